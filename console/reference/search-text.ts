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

/** What of an operation the filter looks through. */
export interface SearchText {
  /** What its entry shows, and how it is called. */
  readonly head: string
  readonly fields: readonly { readonly name: string; readonly text: string }[]
  /** Its description. */
  readonly words: string
}

/** A match: where it was found when the entry does not show it, with the field if it was one; null when it does. */
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
  // Every error has the same shape: its fields would be found everywhere.
  for (const [status, response] of Object.entries(operation.responses ?? {}))
    if (Number(status) < 300) bodies.push(response)
  for (const body of bodies) for (const { schema } of contentOf(description, body)) visit(schema)
  const told = Object.values(operation.responses ?? {}).map(
    (response) => follow(description, response).description ?? '',
  )
  return {
    head: `${id} ${method} ${path} ${title} ${group.name}`.toLowerCase(),
    fields: Array.from(fields, ([name, text]) => ({ name, text })),
    words: [operation.description ?? '', ...told].join(' ').toLowerCase(),
  }
}

/** Goes through the fields of schemas, each named component once: a schema may contain itself. */
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

/** Every word must be somewhere; null when one is not. Words are in lower case. */
export function find({ head, fields, words: text }: SearchText, words: readonly string[]): Found | null {
  let where: string | null = null
  let seenIn: string | null = null
  for (const word of words) {
    if (head.includes(word)) continue
    const field =
      fields.find(({ name }) => name.toLowerCase().includes(word)) ?? fields.find((one) => one.text.includes(word))
    if (field === undefined && !text.includes(word)) return null
    where ??= field?.name ?? 'in the text'
    seenIn ??= field?.name ?? null
  }
  return { where, field: seenIn }
}
