import { Type } from 'typebox'
import { cursorCharactersMax } from '../platform/cursors.ts'
import { type ErrorCode, invalidField } from '../platform/errors.ts'
import { timeLengthMax } from '../platform/time.ts'
import { describedBy } from '../platform/validation.ts'

/**
 * The maximum size of the address and the headers of a request. The largest valid query string, with every character
 * percent-encoded, leaves 15,000 bytes for everything else (`test/service/largest-requests.test.ts`).
 */
export const headerBytesMax = 131_072

const listLimits = {
  values: 200,
  /** In UTF-8, for all lists of a request together. A byte takes three characters in an address. */
  bytes: 16_384,
} as const

/**
 * A query parameter with several values, separated by commas. OpenAPI describes it as that text, which every generated
 * client sends correctly, and as a list only if its values are those in `allowed`.
 */
export const listParameter = (description: string, allowed: readonly string[] | null = null) =>
  Type.Optional(
    Type.String({
      maxLength: listLimits.bytes,
      description: `${description} Separate several with commas: at most ${listLimits.values} values. All such lists of a request may have ${listLimits.bytes} bytes (UTF-8) together.`,
      ...(allowed === null ? {} : { [describedBy]: { type: 'array', items: { type: 'string', enum: allowed } } }),
    }),
  )

/** Every fault of a cursor, its length too, is found when the cursor is opened, and has one error code. */
export const cursorParameter = (description: string) =>
  Type.Optional(
    Type.String({ description, [describedBy]: { type: 'string', minLength: 1, maxLength: cursorCharactersMax } }),
  )

export const timeParameter = (description: string) =>
  Type.Optional(Type.String({ format: 'date-time', maxLength: timeLengthMax, description }))

/**
 * Returns the values of the lists with these names, in order and without repetitions; null for an absent list. An empty
 * element is an error, not a wildcard. One call reads all lists of a request, because they share a length limit.
 */
export function splitLists<Name extends string>(
  query: { readonly [name in Name]?: string | undefined },
  names: readonly Name[],
  invalid: ErrorCode,
): Readonly<Record<Name, readonly string[] | null>> {
  let bytes = 0
  const lists = names.map((name) => {
    const text = query[name]
    if (text === undefined) return [name, null] as const
    bytes += Buffer.byteLength(text)
    if (bytes > listLimits.bytes) {
      const message = `makes the lists of this request longer than ${listLimits.bytes} bytes (UTF-8) together: ask for fewer values at once`
      throw invalidField(invalid, name, message)
    }
    const values = [...new Set(text.split(','))]
    if (values.includes('')) {
      throw invalidField(invalid, name, 'has an empty element: separate values with single commas')
    }
    if (values.length > listLimits.values) {
      throw invalidField(invalid, name, `has more than ${listLimits.values} values: ask for fewer at once`)
    }
    return [name, values] as const
  })
  return Object.fromEntries(lists) as Record<Name, readonly string[] | null>
}
