import {
  type Body,
  contentOf,
  type Description,
  follow,
  type Group,
  type Operation,
  type PlainSchema,
  plain,
  type Schema,
} from './openapi-model.ts'

/** The texts of an operation that the filter searches. */
export interface SearchText {
  /** The text of its entry in the list, and its ID. */
  readonly head: string
  readonly fields: readonly { readonly name: string; readonly text: string }[]
  /** Its description. */
  readonly words: string
}

/** A match: where it was found, and in which field. Null if the entry itself shows the words. */
export interface Found {
  readonly where: string | null
  readonly field: string | null
}

export function searchTextOf(description: Description, group: Group, operation: Operation): SearchText {
  const { id, method, path, title } = operation
  const fields = new Map<string, string>()
  const add = (name: string, text: string): void => {
    fields.set(name, `${fields.get(name) ?? name} ${text}`.toLowerCase())
  }
  for (const parameter of operation.parameters) {
    add(parameter.name, `${parameter.description ?? ''} ${valuesOf(plain(description, parameter.schema))}`)
  }
  const visit = schemaVisitor(description, add)
  const bodies: (Body | undefined)[] = [operation.requestBody]
  // All errors have the same schema, so its fields would match everywhere.
  for (const [status, response] of Object.entries(operation.responses ?? {}))
    if (Number(status) < 300) bodies.push(response)
  for (const body of bodies) for (const { schema } of contentOf(description, body)) visit(schema)
  const responses = Object.values(operation.responses ?? {}).map(
    (response) => follow(description, response).description ?? '',
  )
  return {
    head: `${id} ${method} ${path} ${title} ${group.name}`.toLowerCase(),
    fields: Array.from(fields, ([name, text]) => ({ name, text })),
    words: [operation.description ?? '', ...responses].join(' ').toLowerCase(),
  }
}

/** Visits the fields of schemas, each named component once, because a schema may contain itself. */
function schemaVisitor(description: Description, add: (name: string, text: string) => void) {
  const seen = new Set<string>()
  const visit = (schema: Schema | PlainSchema | undefined): void => {
    if (schema === undefined) return
    const known = plain(description, schema)
    if (known.name !== undefined) {
      if (seen.has(known.name)) return
      seen.add(known.name)
    }
    for (const [name, field] of Object.entries(known.properties ?? {})) {
      const inside = plain(description, field)
      add(name, `${inside.description ?? ''} ${valuesOf(inside)}`)
      visit(field)
    }
    for (const variant of known.variants ?? []) visit(variant)
    for (const values of Object.values(known.patternProperties ?? {})) visit(values)
    if (typeof known.additionalProperties === 'object') visit(known.additionalProperties)
    visit(known.items)
  }
  return visit
}

const valuesOf = ({ enum: values = [], const: only }: PlainSchema): string =>
  [...values, ...(only === undefined ? [] : [only])].join(' ')

/** Finds words, which must be in lower case. Returns null if one of them does not occur. */
export function find({ head, fields, words: text }: SearchText, words: readonly string[]): Found | null {
  let where: string | null = null
  let foundIn: string | null = null
  for (const word of words) {
    if (head.includes(word)) continue
    const field =
      fields.find(({ name }) => name.toLowerCase().includes(word)) ?? fields.find((one) => one.text.includes(word))
    if (field === undefined && !text.includes(word)) return null
    where ??= field?.name ?? 'in the text'
    foundIn ??= field?.name ?? null
  }
  return { where, field: foundIn }
}
