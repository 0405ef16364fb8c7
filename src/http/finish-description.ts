import { readFileSync } from 'node:fs'
import { componentName, describedBy } from '../platform/validation.ts'

/**
 * Completes the framework's description: adds optional bodies, response headers and examples, and moves schemas to
 * components.
 */
export function finishDescription(description: Description): Description {
  const operations = operationsOf(description)
  const tagged = new Set(operations.filter(isConditional).flatMap(recordsOf))
  for (const operation of operations) {
    makeBodyOptional(operation)
    describeParameters(operation)
    describeAnswers(
      operation,
      recordsOf(operation).some((name) => tagged.has(name)),
    )
  }
  const finished = withComponents(description)
  addExamples(finished)
  return finished
}

export interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Record<string, unknown>; readonly headers?: object }
}

interface Operation {
  readonly operationId: string
  readonly security: readonly Readonly<Record<string, unknown>>[]
  readonly parameters?: Parameter[]
  readonly requestBody?: { required: boolean; readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<Record<string, Answer>>
}

interface Parameter {
  readonly in: string
  name: string
  example?: unknown
  readonly schema: Readonly<Record<string, unknown>>
  style?: string
  explode?: boolean
}

interface Media {
  example?: unknown
  schema: { readonly anyOf?: readonly { readonly type?: string }[]; readonly [componentName]?: string }
}

interface Answer {
  description: string
  readonly content?: Readonly<Record<string, Media>>
  headers?: Readonly<Record<string, unknown>>
}

const operationsOf = ({ paths }: Description): readonly Operation[] =>
  Object.values(paths).flatMap((methods) => Object.values(methods))

/** The framework marks every body as required, and validates null for an absent one. */
function makeBodyOptional({ requestBody }: Operation): void {
  for (const media of Object.values(requestBody?.content ?? {})) {
    const [schema, nothing] = media.schema.anyOf ?? []
    if (nothing?.type !== 'null') continue
    media.schema = schema as Media['schema']
    requestBody!.required = false
  }
}

/**
 * A list in a query string is one comma-separated value. Header names are checked in lower case, and shown in their
 * usual case.
 */
function describeParameters({ parameters = [] }: Operation): void {
  for (const parameter of parameters) {
    if (parameter.in === 'header') parameter.name = parameter.name.replace(/\b[a-z]/g, (one) => one.toUpperCase())
    const list = parameter.schema[describedBy] as { readonly type?: string } | undefined
    if (list?.type === 'array') Object.assign(parameter, { style: 'form', explode: false })
  }
}

const text = { type: 'string' }

/** Response headers. Each is defined once and referred to. */
const headers = {
  'X-Request-Id': {
    description: 'Finds the request in the log. If the caller sends a well-formed one, it is used.',
    schema: text,
  },
  'RateLimit-Policy': {
    description: 'The limits that apply, by name: `q` requests in `w` seconds.',
    schema: { ...text, examples: ['"requests";q=100;w=2'] },
  },
  RateLimit: {
    description: 'What remains of each limit: `r` requests; the full limit is restored in `t` seconds.',
    schema: { ...text, examples: ['"requests";r=99;t=1'] },
  },
  Location: {
    description: 'Where the created resource, or the progress of the work, can be read.',
    schema: { ...text, format: 'uri-reference' },
  },
  ETag: {
    description:
      'Identifies this state of the resource. Send it as `If-Match` to make a change only if nobody else has changed the resource since.',
    schema: { ...text, examples: ['"Zq2f8a1Wm0cTtn4KxVd3Eg"'] },
  },
  'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' } },
}

/** Whether the operation accepts conditional requests (`If-Match`). */
const isConditional = ({ parameters = [] }: Operation): boolean =>
  parameters.some(({ in: location, name }) => location === 'header' && name.toLowerCase() === 'if-match')

/** The names of the schemas of a successful answer. */
const recordsOf = ({ responses }: Operation): readonly string[] =>
  ['200', '201'].flatMap((status) =>
    Object.values(responses[status]?.content ?? {}).flatMap(({ schema }) => schema[componentName] ?? []),
  )

const successes: Record<string, string> = {
  200: 'Success.',
  201: 'Created.',
  202: 'Accepted; the work continues in the background.',
}

/** Statuses that are answered before the rate is checked. */
const unrated: readonly string[] = ['401', '431']

function describeAnswers({ security, responses }: Operation, isTagged: boolean): void {
  const isRated = security.some((one) => 'consumer' in one)
  for (const [status, answer] of Object.entries(responses)) {
    if (answer.description === 'Default Response') answer.description = successes[status] ?? 'See the operation.'
    const sent: (keyof typeof headers)[] = ['X-Request-Id']
    if (isRated && !unrated.includes(status)) sent.push('RateLimit-Policy', 'RateLimit')
    if (isTagged && (status === '200' || status === '201')) sent.push('ETag')
    if ((status === '201' || status === '202') && answer.content !== undefined) sent.push('Location')
    if (status === '429' || status === '503') sent.push('Retry-After')
    const referred = sent.map((name) => [name, { $ref: `#/components/headers/${name}` }] as const)
    answer.headers = { ...answer.headers, ...Object.fromEntries(referred) }
  }
}

const beyondTwoDigits = /\\u[0-9a-f]{4}(-\\u[0-9a-f]{4})?/g

/** Lists named schemas once as components, and replaces them by references. */
function withComponents(description: Description): Description {
  const components = new Map<string, unknown>()
  const finish = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(finish)
    if (typeof part !== 'object' || part === null) return part
    const { [componentName]: name, [describedBy]: described, ...rest } = part as Record<string, unknown>
    if (described !== undefined) return finish(described)
    const finished = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, finish(value)]))
    // Rust, Go and pydantic reject Unicode escapes of four hex digits.
    if (typeof finished.pattern === 'string') finished.pattern = finished.pattern.replaceAll(beyondTwoDigits, '')
    if (typeof name !== 'string') return finished
    const listed = components.get(name)
    if (listed !== undefined && JSON.stringify(listed) !== JSON.stringify(finished)) {
      throw new Error(`two schemas are named ${name}`)
    }
    components.set(name, finished)
    return { $ref: `#/components/schemas/${name}` }
  }
  const { components: parts, ...finished } = finish(description) as Description
  const schemas = Object.entries({ ...parts.schemas, ...Object.fromEntries(components) })
  const sorted = Object.fromEntries(schemas.sort(([a], [b]) => (a < b ? -1 : 1)))
  return { ...finished, components: { ...parts, headers, schemas: sorted } }
}

interface Example {
  readonly parameters?: Readonly<Record<string, unknown>>
  readonly body?: unknown
  readonly status: number
  readonly answer?: unknown
}

/**
 * Recorded by scripts/record-examples.ts. Read here and not at start, because most processes never describe themselves.
 */
const recorded = new URL('./openapi-examples.json', import.meta.url)

function addExamples(description: Description): void {
  const examples: Readonly<Record<string, Example>> = JSON.parse(readFileSync(recorded, 'utf8'))
  for (const { operationId, parameters = [], requestBody, responses } of operationsOf(description)) {
    const example = examples[operationId]
    if (example === undefined) continue
    for (const parameter of parameters) {
      const value = example.parameters?.[parameter.name]
      if (value !== undefined) parameter.example = value
    }
    if (example.body !== undefined) requestBody!.content['application/json']!.example = example.body
    if (example.answer === undefined) continue
    for (const [type, media] of Object.entries(responses[example.status]?.content ?? {})) {
      if (/json|text/.test(type)) media.example = example.answer
    }
  }
}
