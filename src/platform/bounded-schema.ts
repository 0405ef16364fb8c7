/**
 * Returns the parts of a schema without a limit, for which checking a value could cost more than reading it. A request
 * of a megabyte could then block the process. The rules:
 *
 * - a list has `maxItems`, and if its items must be unique they have a simple type: others are compared pair by pair
 * - a choice has a `type`, for the same reason
 * - a text in a body has a length: `maxLength`, a format, or a pattern of bounded length
 * - an object whose unnamed fields are checked has `maxProperties`
 *
 * Query strings and headers are short: together they are at most 128 KiB.
 */
export function unboundedPartsOf(schema: object, part: string | undefined): readonly string[] {
  const found: string[] = []
  const visit = (one: Schema, path: string): void => {
    const report = (what: string): void => void found.push(`${path === '' ? 'the whole' : path} ${what}`)
    if (one.type === 'array') {
      if (one.maxItems === undefined) report('is a list without maxItems')
      if (one.uniqueItems === true && !isSimple(one.items)) report('is a list of unique items without a simple type')
    }
    if ((one.enum !== undefined || one.const !== undefined) && one.type === undefined)
      report('is a choice without type')
    if (one.type === 'string' && (part === 'body' || part === undefined) && !hasLength(one))
      report('is a text without a length limit')
    for (const [name, below] of Object.entries(one.properties ?? {})) visit(below, `${path}/${name}`)
    for (const below of [one.anyOf, one.oneOf, one.allOf].flat()) if (below !== undefined) visit(below, path)
    if (one.items !== undefined) visit(one.items, `${path}/*`)
    for (const below of [...Object.values(one.patternProperties ?? {}), one.additionalProperties]) {
      if (typeof below !== 'object' || Object.keys(below).length === 0) continue
      if (one.maxProperties === undefined) report('is an object without maxProperties')
      visit(below, `${path}/…`)
    }
  }
  visit(schema as Schema, '')
  return found
}

interface Schema {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly maxItems?: number
  readonly uniqueItems?: boolean
  readonly maxLength?: number
  readonly maxProperties?: number
  readonly format?: string
  readonly pattern?: string
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
}

const isSimple = (items: Schema | undefined): boolean =>
  ['string', 'integer', 'number', 'boolean'].includes(items?.type ?? '')

function hasLength({ maxLength, format, pattern, enum: values, const: value }: Schema): boolean {
  if (maxLength !== undefined || format !== undefined || values !== undefined || value !== undefined) return true
  // The pattern is anchored at both ends and has no unlimited repetition.
  return pattern !== undefined && /^\^.*\$$/.test(pattern) && !/[*+]|\{\d+,\}/.test(pattern.replace(/\[[^\]]*\]/g, ''))
}
