import { type Static, Type } from 'typebox'
import { choices, laterThan, named, printablePattern, storedLanguage } from '../platform/validation.ts'
import { fieldPermissions } from './scope.ts'

const code = (description: string) =>
  Type.String({ minLength: 1, maxLength: 128, pattern: printablePattern, description })
const codes = (what: string, description: string) =>
  Type.Array(code(what), { minItems: 1, maxItems: 1000, uniqueItems: true, description })

/** One entry of what an application may read. An absent list means "any". */
export const EntitlementInput = named(
  'EntitlementRequest',
  Type.Object(
    {
      datasets: codes('a dataset ID', 'The datasets it allows.'),
      platforms: Type.Optional(codes('a platform code', 'Only documents from these platforms.')),
      languages: Type.Optional(
        Type.Array(storedLanguage, {
          minItems: 1,
          maxItems: 1000,
          uniqueItems: true,
          description: 'Only documents in these languages.',
        }),
      ),
      regions: Type.Optional(codes('a region code', 'Only documents from these regions.')),
      published_from: Type.Optional(
        Type.String({ format: 'date-time', description: 'Only documents published at this time or later.' }),
      ),
      published_to: Type.Optional(
        Type.String({
          format: 'date-time',
          [laterThan]: 'published_from',
          description: 'Only documents published before this time.',
        }),
      ),
      fields: Type.Optional(
        choices('FieldPermission', fieldPermissions, 'Which parts of a document the entry allows. Default: all six.'),
      ),
    },
    {
      additionalProperties: false,
      description:
        'Allows a document that meets all conditions. A condition that is left out allows any value. An entry that restricts languages, regions or publication time never allows a document without that value. Versions are matched by their own language, or by that of the document if they have none.',
    },
  ),
)
export type EntitlementInput = Static<typeof EntitlementInput>
