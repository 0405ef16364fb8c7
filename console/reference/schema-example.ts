import { type Description, type PlainSchema, plain, type Schema } from './openapi-model.ts'
import { mapValues } from './schema-words.ts'

const depthMax = 6

/** Typical values for fields of these names, so that examples look like real requests and responses. */
const byName: readonly (readonly [RegExp, string])[] = [
  [/^(query)$/, 'tidal power'],
  [/(^|_)dataset(s|_id|_ids)?$/, 'news'],
  [/platforms?$/, 'rss'],
  [/^languages?$/, 'en'],
  [/^regions?$/, 'GB'],
  [/^title$/, 'A title'],
  [/^(name|nickname)$/, 'A name'],
  [/^document_ids?$/, 'doc_…'],
  [/^external_id$/, 'a-1'],
  [/version_id$/, 'ver_…'],
  [/^application_id$/, 'app_…'],
  [/^key_id$/, 'key_…'],
  [/^(run)_id$/, 'run_…'],
  [/^request_id$/, 'req_…'],
  [/cursor$/, '…'],
]

/**
 * Returns an example of a schema: its own, if it has one. An example of a request (`sparse`) has only the required
 * fields and those with an example of their own, so that it is the shortest that works.
 */
export function exampleOf(
  description: Description,
  schema: Schema | PlainSchema | undefined,
  { sparse = false } = {},
  name = '',
  depth = 0,
): unknown {
  const known = plain(description, schema)
  const given = known.examples?.[0] ?? known.example
  if (given !== undefined) return given
  if (known.const !== undefined) return known.const
  if (known.default !== undefined) return known.default
  if (known.enum) return known.enum[0]
  if (known.variants) return exampleOf(description, known.variants[0], { sparse }, name, depth + 1)
  if (depth > depthMax) return null
  if (known.type === 'array') {
    return [exampleOf(description, known.items ?? {}, { sparse }, name, depth + 1)]
  }
  if (known.type === 'object' || known.properties) return exampleObject(description, known, sparse, depth)
  return simple(known, name)
}

function exampleObject(description: Description, known: PlainSchema, sparse: boolean, depth: number): object {
  const required = new Set(known.required ?? [])
  const fields = Object.entries(known.properties ?? {}).filter(
    ([name, schema]) => !sparse || required.has(name) || hasExample(plain(description, schema)),
  )
  const values = mapValues(known)
  if (fields.length === 0 && values && !sparse && Object.keys(values).length > 0) {
    return { name: exampleOf(description, values, { sparse }, '', depth + 1) }
  }
  return Object.fromEntries(
    fields.map(([name, schema]) => [name, exampleOf(description, schema, { sparse }, name, depth + 1)]),
  )
}

const hasExample = (schema: PlainSchema): boolean => schema.examples !== undefined || schema.example !== undefined

function simple(known: PlainSchema, name: string): unknown {
  if (known.type === 'boolean') return false
  if (known.type === 'integer' || known.type === 'number') return known.minimum ?? 1
  if (known.type === 'string') {
    if (known.format === 'date-time') return '2026-11-14T09:30:00Z'
    if (known.format === 'uri') return 'https://example.com/a'
    return byName.find(([pattern]) => pattern.test(name))?.[1] ?? 'text'
  }
  return null
}

/** The form of a generated ID. One in a recorded example exists only on the instance that was recorded. */
const generatedId = /^[a-z]+_[0-9a-hjkmnp-tv-z]{26}$/
export const isGeneratedId = (value: unknown): boolean => typeof value === 'string' && generatedId.test(value)

/** Replaces generated IDs in an example of a request by placeholders. */
export function withPlaceholders(value: unknown, name = ''): unknown {
  if (isGeneratedId(value)) return placeholderOf(name.replace(/_ids$/, '_id'))
  if (Array.isArray(value)) return value.map((one) => withPlaceholders(one, name))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([field, one]) => [field, withPlaceholders(one, field)]))
}

/** Returns the placeholder of a path parameter: `DOCUMENT_ID` for `{document_id}`. */
export function placeholderOf(name: string): string {
  return name.replaceAll('-', '_').toUpperCase()
}
