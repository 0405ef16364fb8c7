import type { Static } from 'typebox'
import { Type } from '../schema-types.ts'
import { choices, laterThan, named, printablePattern, storedLanguage } from '../validation.ts'
import { fieldPermissions } from './scope.ts'

const code = (description: string) =>
  Type.String({ minLength: 1, maxLength: 128, pattern: printablePattern, description })
const codes = (what: string) => Type.Array(code(what), { minItems: 1, maxItems: 1000, uniqueItems: true })

/** One line of what an application may read. A list that is absent means "any". */
export const EntitlementInput = named(
  'EntitlementRequest',
  Type.Object(
    {
      datasets: Type.Array(code('a dataset id'), { minItems: 1, maxItems: 1000, uniqueItems: true }),
      platforms: Type.Optional(codes('a platform code')),
      languages: Type.Optional(Type.Array(storedLanguage, { minItems: 1, maxItems: 1000, uniqueItems: true })),
      regions: Type.Optional(codes('a region code')),
      published_from: Type.Optional(Type.String({ format: 'date-time', description: 'Inclusive.' })),
      published_to: Type.Optional(
        Type.String({ format: 'date-time', [laterThan]: 'published_from', description: 'Exclusive.' }),
      ),
      fields: Type.Optional(choices('FieldPermission', fieldPermissions, 'Field permissions; all six when absent.')),
    },
    {
      additionalProperties: false,
      description:
        'Matches a document when every stated condition does. An entry that restricts languages, regions or publication time never matches a document that lacks that value. A version is matched by its own language, or by that of its document where it has none.',
    },
  ),
)
export type EntitlementInput = Static<typeof EntitlementInput>
