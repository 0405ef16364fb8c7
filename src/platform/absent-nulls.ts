import { describedBy } from './choice.ts'

/**
 * Removes null for optional fields of a request, at every level, before validation. Many clients write null for a field
 * that they leave out, and a response may be sent back as a request. Null stays where the schema gives it a meaning.
 * Where a field is required or unknown it stays too, and validation refuses it.
 */
export function absentNulls(schema: object): (value: unknown) => void {
  const fields = fieldsOf([schema as Schema])
  return (value) => remove(value, fields)
}

interface Schema {
  readonly type?: unknown
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly [describedBy]?: Schema
}

interface Fields {
  readonly optional: readonly string[]
  /** The fields whose values have fields of their own. */
  readonly within: readonly (readonly [string, Fields])[]
  /** The fields of the items of a list. */
  readonly items: Fields | null
}

/** A field is optional in a value of these schemas if at least one has it and none requires it. */
function fieldsOf(schemas: readonly Schema[]): Fields {
  const choices = schemas.flatMap(choicesOf)
  const byName = Map.groupBy(
    choices.flatMap(({ properties }) => Object.entries(properties ?? {})),
    ([name]) => name,
  )
  const required = new Set(choices.flatMap((one) => one.required ?? []))
  const named = [...byName].map(([name, found]) => [name, found.map(([, schema]) => schema)] as const)
  const items = choices.flatMap((one) => one.items ?? [])
  return {
    optional: named.flatMap(([name, found]) => (required.has(name) || found.some(meansNull) ? [] : [name])),
    within: named.map(([name, found]) => [name, fieldsOf(found)] as const).filter(([, fields]) => hasAny(fields)),
    items: items.length === 0 ? null : fieldsOf(items),
  }
}

const hasAny = ({ optional, within, items }: Fields): boolean =>
  optional.length > 0 || within.length > 0 || (items !== null && hasAny(items))

const choicesOf = (schema: Schema): readonly Schema[] => [
  schema,
  ...[...(schema.anyOf ?? []), ...(schema[describedBy] === undefined ? [] : [schema[describedBy]])].flatMap(choicesOf),
]

/** Whether null is an allowed value. A schema that restricts nothing allows it. */
function meansNull({ type, enum: values, const: value, anyOf }: Schema): boolean {
  if (anyOf !== undefined) return anyOf.some(meansNull)
  if (type !== undefined) return [type].flat().includes('null')
  return values === undefined ? value === undefined || value === null : values.includes(null)
}

function remove(value: unknown, { optional, within, items }: Fields): void {
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    if (items !== null) for (const one of value) remove(one, items)
    return
  }
  const object = value as Record<string, unknown>
  for (const name of optional) if (object[name] === null) delete object[name]
  for (const [name, fields] of within) remove(object[name], fields)
}
