import { credential } from '../app/session.ts'
import { daysAgo } from '../shared/days-ago.ts'
import { pathSegment } from '../shared/path-segment.ts'
import type { Answer, ReadyRequest, ShownRequest } from '../shared/request-code.ts'
import { schemeVariable } from './credentials.ts'
import { contentOf, type Description, type Operation, type Parameter, plain, type TypedMedia } from './openapi-model.ts'
import { exampleOf, isGeneratedId, placeholderOf, withPlaceholders } from './schema-example.ts'

/** The reader's input for one operation, and who is notified when it changes. */
export interface Draft {
  readonly bodies: readonly TypedMedia[]
  readonly values: Map<string, string>
  contentType: string | null
  body: string
  readonly answer: Answer
  readonly listeners: Set<() => void>
}

/**
 * Returns the initial draft of an operation's request. The displayed code and the sent request are both built from it,
 * so they cannot differ.
 */
export function requestOf(description: Description, operation: Operation): Draft {
  const bodies = contentOf(description, operation.requestBody)
  const state: Draft = {
    bodies,
    values: new Map(),
    contentType: bodies[0]?.type ?? null,
    body: bodies[0] === undefined ? '' : bodyExample(description, bodies[0]),
    answer: answerOf(description, operation),
    listeners: new Set(),
  }
  for (const parameter of operation.parameters) {
    // On a small instance, the default window of one day is empty on most days.
    if (parameter.name === 'created_from') state.values.set(keyOf(parameter), daysAgo(30))
    const given = exampleValue(description, parameter)
    if (parameter.required && given !== undefined && !isGeneratedId(given))
      state.values.set(keyOf(parameter), String(given))
  }
  return state
}

export function exampleValue(description: Description, parameter: Parameter): unknown {
  const { examples, example } = plain(description, parameter.schema)
  return parameter.example ?? examples?.[0] ?? example
}

function answerOf(description: Description, operation: Operation): Answer {
  const [, good] = Object.entries(operation.responses ?? {}).find(([status]) => Number(status) < 300) ?? []
  const [media] = contentOf(description, good)
  if (media === undefined) return { kind: 'none' }
  if (/\bjson\b/.test(media.type)) return { kind: 'json' }
  if (media.type.startsWith('text/')) return { kind: 'text' }
  return { kind: 'file', name: `answer.${media.type.split(/[./+]/).at(-1)}` }
}

export const keyOf = ({ in: kind, name }: Parameter): string => `${kind}:${name}`

export function notifyListeners(state: Draft): void {
  for (const listener of state.listeners) listener()
}

/**
 * Returns the example of a media type: its own, or one built from the schema. For NDJSON, it has a line for each item.
 */
export function bodyExample(description: Description, media: TypedMedia): string {
  const given = withPlaceholders(media.example ?? Object.values(media.examples ?? {})[0]?.value)
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

/** Builds the request that is sent, with the typed key. */
export function buildRequest(operation: Operation, state: Draft): ReadyRequest {
  const { headers, ...request } = fillIn(operation, state, () => '', pathSegment)
  const key = operation.scheme === null ? '' : credential(operation.scheme).value
  return { ...request, headers: key === '' ? headers : { Authorization: `Bearer ${key}`, ...headers } }
}

export function shownRequest(operation: Operation, state: Draft): ShownRequest {
  const variable = operation.scheme === null ? null : schemeVariable(operation.scheme)
  // The code shows half-typed text, too. `pathSegment` refuses it only when it is sent.
  const shown = (text: string): string => encodeURIComponent(text.toWellFormed())
  return { ...fillIn(operation, state, placeholderOf, shown), variable, answer: state.answer }
}

/** `missing` returns the placeholder for an empty required value. */
function fillIn(
  operation: Operation,
  state: Draft,
  missing: (name: string) => string,
  segment: (text: string) => string,
): ReadyRequest {
  const filled = (parameter: Parameter): string =>
    state.values.get(keyOf(parameter)) || (parameter.required ? missing(parameter.name) : '')
  const parametersIn = (kind: string): (readonly [name: string, value: string])[] =>
    operation.parameters.filter((one) => one.in === kind).map((one) => [one.name, filled(one)])
  const inPath = new Map(parametersIn('path'))
  const path = operation.path.replace(/\{([^}]+)\}/g, (_, name: string) => segment(inPath.get(name) ?? ''))
  const query = new URLSearchParams(
    parametersIn('query')
      .filter(([, value]) => value !== '')
      .map(([...pair]) => pair),
  )
  const headers = Object.fromEntries(parametersIn('header').filter(([, value]) => value !== ''))
  const body = operation.requestBody && state.body.trim() !== '' ? state.body : null
  if (body !== null && state.contentType !== null) headers['Content-Type'] = state.contentType
  // A comma in a list and a colon in a time stay readable. Both are valid in a query.
  const search = query.size === 0 ? '' : `?${query.toString().replaceAll('%2C', ',').replaceAll('%3A', ':')}`
  return { method: operation.method.toUpperCase(), url: `${location.origin}${path}${search}`, headers, body }
}
