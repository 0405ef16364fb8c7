import { type ErrorCode, invalidField } from '../errors.ts'
import { Type } from '../schema-types.ts'
import { describedBy } from '../validation.ts'

/**
 * A query parameter that takes several values, separated by commas. OpenAPI has it as that text, which every generated
 * client sends rightly, and as a list only where it is one of `allowed` values.
 */
export const listParameter = (description: string, allowed: readonly string[] | null = null) =>
  Type.Optional(
    Type.String({
      maxLength: 20_000,
      description: `${description} Separate several with commas.`,
      ...(allowed === null ? {} : { [describedBy]: { type: 'array', items: { type: 'string', enum: allowed } } }),
    }),
  )

const valuesMax = 200

/** Its values, in order and each once; null when it is absent. An empty element is an error, not a wildcard. */
export function splitList(text: string | undefined, path: string, invalid: ErrorCode): readonly string[] | null {
  if (text === undefined) return null
  const values = text.split(',')
  const fault = values.includes('')
    ? 'has an empty element: separate values with single commas'
    : values.length > valuesMax
      ? `has more than ${valuesMax} values`
      : null
  if (fault !== null) throw invalidField(invalid, path, fault)
  return [...new Set(values)]
}
