import { credentials } from './credentials.ts'
import { contentOf, type Description, type Operation, type Parameter, plain, type TypedMedia } from './openapi-model.ts'
import { exampleOf, placeholderOf } from './schema-example.ts'

/** What the reader has filled in for one operation. */
export interface Draft {
  readonly bodies: readonly TypedMedia[]
  readonly values: Map<string, string>
  contentType: string | null
  body: string
  readonly listeners: Set<() => void>
}

interface ReadyRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

/**
 * The draft of an operation's request. The curl line and the sent request come from the same place, so they cannot
 * differ.
 */
export function requestOf(description: Description, operation: Operation): Draft {
  const bodies = contentOf(description, operation.requestBody)
  const state: Draft = {
    bodies,
    values: new Map(),
    contentType: bodies[0]?.type ?? null,
    body: bodies[0] === undefined ? '' : bodyExample(description, bodies[0]),
    listeners: new Set(),
  }
  for (const parameter of operation.parameters) {
    if (!parameter.required) continue
    const { examples, example } = plain(description, parameter.schema)
    const given = parameter.example ?? examples?.[0] ?? example
    if (given !== undefined) state.values.set(keyOf(parameter), String(given))
  }
  credentials.subscribe((scheme) => {
    if (scheme === operation.scheme) changed(state)
  })
  return state
}

export const keyOf = ({ in: place, name }: Parameter): string => `${place}:${name}`

export function changed(state: Draft): void {
  for (const listener of state.listeners) listener()
}

/** The example of a media type: its own, or one made from the schema. A list of lines for NDJSON. */
export function bodyExample(description: Description, media: TypedMedia): string {
  const given = media.example ?? Object.values(media.examples ?? {})[0]?.value
  if (typeof given === 'string') return given
  if (/ndjson/.test(media.type)) {
    const value = given ?? exampleOf(description, media.schema ?? {}, { sparse: true })
    return [value]
      .flat()
      .map((line) => (typeof line === 'string' ? line : JSON.stringify(line)))
      .join('\n')
  }
  const value = given ?? exampleOf(description, media.schema ?? {}, { sparse: true })
  return value === null ? '' : JSON.stringify(value, null, 2)
}

/** `forShell`: what is missing shows as a placeholder and the key as a variable, instead of being left out. */
export function buildRequest(operation: Operation, state: Draft, { forShell = false } = {}): ReadyRequest {
  const filled = (parameter: Parameter): string => state.values.get(keyOf(parameter)) ?? ''
  const placed = (place: string): Parameter[] => operation.parameters.filter((one) => one.in === place)
  const path = operation.path.replace(/\{([^}]+)\}/g, (_, name: string) => {
    const value = state.values.get(`path:${name}`) ?? ''
    return value === '' && forShell ? placeholderOf(name) : encodeURIComponent(value)
  })
  const query = new URLSearchParams()
  for (const parameter of placed('query')) {
    const value = filled(parameter)
    if (value !== '') query.set(parameter.name, value)
    else if (parameter.required && forShell) query.set(parameter.name, placeholderOf(parameter.name))
  }
  const headers: Record<string, string> = {}
  if (operation.scheme !== null) {
    const key = credentials.get(operation.scheme)
    if (key !== '') headers.Authorization = `Bearer ${key}`
    else if (forShell) headers.Authorization = 'Bearer $TIDEMARK_KEY'
  }
  for (const parameter of placed('header')) if (filled(parameter) !== '') headers[parameter.name] = filled(parameter)
  const body = operation.requestBody && state.body.trim() !== '' ? state.body : null
  if (body !== null && state.contentType !== null) headers['Content-Type'] = state.contentType
  // A comma in a list stays readable; it means itself in a query.
  const search = query.size === 0 ? '' : `?${query.toString().replaceAll('%2C', ',')}`
  return { method: operation.method.toUpperCase(), url: `${location.origin}${path}${search}`, headers, body }
}

export function curlOf({ method, url, headers, body }: ReadyRequest): string {
  const implied = body === null ? 'GET' : 'POST'
  const parts = [`curl -s${method === implied ? '' : ` -X ${method}`} ${quote(url)}`]
  for (const [name, value] of Object.entries(headers)) {
    const line = `${name}: ${value}`
    parts.push(`-H ${line.includes('$TIDEMARK_KEY') ? `"${line}"` : quote(line)}`)
  }
  if (body !== null) parts.push(`--data-binary ${quote(body)}`)
  return parts.join(' \\\n  ')
}

const quote = (text: string): string => (/^[\w:/.,=+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)
