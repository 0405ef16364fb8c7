import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { quotaOperations } from '../../src/access/operations.ts'
import { sharedServer } from '../acceptance/harness.ts'
import { documentFields } from '../support/document-fields.ts'

interface Operation {
  readonly operationId?: string
  readonly summary?: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly security?: readonly unknown[]
  readonly deprecated?: boolean
  readonly parameters?: readonly {
    readonly in: string
    readonly name: string
    readonly description?: string
    readonly required?: boolean
    readonly schema: Schema
    readonly style?: string
    readonly explode?: boolean
    readonly example?: unknown
  }[]
  readonly requestBody?: {
    readonly required: boolean
    readonly content: Readonly<Record<string, Media>>
  }
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly description?: string
        readonly headers?: object
        readonly content?: Readonly<Record<string, Media>>
      }
    >
  >
}

interface Media {
  readonly schema: Schema
  readonly example?: unknown
}

interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly format?: string
  readonly pattern?: string
  readonly 'x-read-once'?: boolean
  readonly minLength?: number
  readonly maxLength?: number
  readonly anyOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly patternProperties?: Readonly<Record<string, Schema>>
}

let description: {
  readonly openapi: string
  readonly info: { readonly license: object }
  readonly servers: readonly { readonly url: string }[]
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly securitySchemes: object
    readonly schemas: { readonly Error: { readonly properties: object }; readonly [name: string]: object }
  }
}
let operations: (Operation & { readonly where: string; readonly path: string })[]

before(async () => {
  const server = await sharedServer()
  const answer = await server.call('GET', '/openapi.json')
  assert.equal(answer.status, 200)
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
  description = answer.body
  operations = Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      where: `${method.toUpperCase()} ${path}`,
      path,
    })),
  )
})

test('the description is valid OpenAPI 3.1', async () => {
  const validator = new Validator()
  const result = await validator.validate(structuredClone(description))
  assert.ok(result.valid, JSON.stringify(result.errors, null, 2))
  assert.equal(validator.version, '3.1')
  assert.equal(description.openapi, '3.1.0')
})

test('every operation has a summary, a declared tag, a security and an operationId of its own', () => {
  assert.ok(operations.length > 20)
  const tags = description.tags.map(({ name }) => name)
  for (const { where, summary, tags: own, security, operationId } of operations) {
    assert.ok(summary !== undefined && summary.length > 3, `${where} has no summary`)
    assert.equal(own?.length, 1, `${where} has no tag`)
    assert.ok(tags.includes(own![0]!), `${where}: the tag ${own} is not described`)
    assert.ok(Array.isArray(security), `${where} does not say its security`)
    assert.match(operationId ?? '', /^[a-z]+(\.[a-zA-Z]+)+$/, where)
  }
  assert.equal(new Set(operations.map(({ operationId }) => operationId)).size, operations.length)
})

test('every daily quota names the paths that it counts, and no others', () => {
  const { properties } = description.components.schemas.DailyQuotas as {
    properties: Record<string, { description: string }>
  }
  assert.deepEqual(Object.keys(properties).sort(), [...new Set(Object.values(quotaOperations))].sort())
  for (const [name, { description: words }] of Object.entries(properties)) {
    const counted = operations.filter(
      ({ operationId }) => quotaOperations[operationId as keyof typeof quotaOperations] === name,
    )
    const named = [...words.matchAll(/`((?:GET|POST) [^`]+)`/g)].map((match) => match[1]!)
    assert.deepEqual(named.sort(), counted.map(({ where }) => where).sort(), name)
  }
})

test('wherever use is shown it is said that work which failed counts where there is a quota', () => {
  const { DailyUsage, DailyQuotas } = description.components.schemas as unknown as Record<
    string,
    { readonly description: string; readonly properties: { readonly operations: { readonly description: string } } }
  >
  const { description: listed } = operations.find(({ operationId }) => operationId === 'admin.usage.read')!
  for (const words of [DailyUsage!.properties.operations.description, DailyQuotas!.description, listed!]) {
    assert.match(words, /from the moment its work begins, even if it then fails with a 503/)
  }
})

test('every parameter is described, and so is every answer', () => {
  for (const { where, path, parameters = [], responses } of operations) {
    const named = [...path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1]!).sort()
    const described = parameters.filter((one) => one.in === 'path').map((one) => one.name)
    assert.deepEqual(described.sort(), named, where)
    for (const { name, description: words = '' } of parameters) assert.ok(words.length > 3, `${where} ${name}`)
    assert.ok(
      Object.keys(responses).some((status) => status.startsWith('2')),
      `${where} describes no success`,
    )
    for (const [status, { description: words, content }] of Object.entries(responses)) {
      assert.ok(words !== undefined && words.length > 0, `${where} ${status}`)
      assert.ok(
        ['204', '302', '304'].includes(status) || `${where} ${status}` === 'POST /mcp 202' || content !== undefined,
        `${where} ${status} says nothing of its body`,
      )
    }
  }
})

test('every resource and request has a name of its own', () => {
  const inline: string[] = []
  const look = (at: string, part: unknown): void => {
    if (typeof part !== 'object' || part === null) return
    if ('properties' in part && 'type' in part) inline.push(at)
    for (const [name, below] of Object.entries(part)) look(`${at}/${name}`, below)
  }
  for (const { where, requestBody, responses } of operations) look(where, [requestBody, responses])
  const { schemas } = description.components
  for (const [name, schema] of Object.entries(schemas)) for (const part of Object.values(schema)) look(name, part)
  assert.deepEqual(inline, [])
  for (const name of ['SearchRequest', 'SearchResponse', 'SearchResult', 'Document', 'ChangeEvent', 'AnalysisRun']) {
    assert.ok(name in schemas, name)
  }
  const references = new Set(JSON.stringify(description).match(/(?<=#\/components\/schemas\/)\w+/g))
  assert.deepEqual([...references].sort(), Object.keys(schemas).sort(), 'every one is referred to, and is there')
})

/** Operations without a text answer: a file, this description itself, and deletions. */
const withoutAnswer = [
  'analysis.artifacts.download',
  'openapi.read',
  'admin.applications.delete',
  'admin.collectors.delete',
  'admin.tombstones.lift',
]

test('every operation has examples, which are as the schemas say', () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema(description, 'api')
  const holds = (at: string, { schema, example }: Media): void => {
    const name = schema.$ref ?? null
    const valid = name === null ? ajv.compile(schema) : ajv.compile({ $ref: `api${name}` })
    assert.ok(valid(example), `${at}: ${JSON.stringify(valid.errors)}`)
  }
  for (const { where, operationId, parameters = [], requestBody, responses } of operations) {
    for (const { name, in: place, required, example } of parameters) {
      if (place === 'path' || required === true) assert.ok(example !== undefined, `${where} ${name}`)
    }
    const sent = requestBody?.content['application/json']
    if (requestBody?.required === true) assert.ok(sent?.example !== undefined, `${where} has no example of its body`)
    if (sent?.example !== undefined) holds(`${where} body`, sent)
    const answers = Object.entries(responses)
      .filter(([status]) => status.startsWith('2'))
      .flatMap(([, { content = {} }]) => Object.values(content))
      .filter(({ example }) => example !== undefined)
    assert.equal(answers.length, withoutAnswer.includes(operationId!) ? 0 : 1, `${where} has no example of its answer`)
    for (const answer of answers) holds(where, answer)
  }
})

test('every answer has the headers that it comes with', () => {
  for (const { where, security, responses } of operations) {
    for (const [status, { headers = {}, content }] of Object.entries(responses)) {
      assert.ok('X-Request-Id' in headers, `${where} ${status}`)
      const isRated = security!.some((one) => 'consumer' in (one as object)) && !['401', '431'].includes(status)
      assert.equal('RateLimit' in headers, isRated, `${where} ${status}`)
      const isMade = ['201', '202'].includes(status) && content !== undefined
      assert.equal('Location' in headers, isMade, `${where} ${status}`)
      assert.equal('Retry-After' in headers, ['429', '503'].includes(status), `${where} ${status}`)
    }
  }
})

test('what clients are generated from: servers, license, what may be absent, values that are fixed', () => {
  const of = (id: string) => operations.find(({ operationId }) => operationId === id)!
  const parameter = (id: string, name: string) => of(id).parameters!.find((one) => one.name === name)!
  assert.deepEqual(
    [description.servers.map(({ url }) => url), description.info.license],
    [['/'], { name: 'MIT', identifier: 'MIT' }],
  )
  assert.deepEqual(
    operations.filter(({ requestBody }) => requestBody?.required === false).map(({ operationId }) => operationId),
    [
      ...['admin.keys.create', 'admin.keys.revoke', 'admin.keys.rotate', 'admin.tokens.revoke'],
      'collector.tasks.heartbeat',
    ],
  )
  assert.equal(parameter('live.create', 'Idempotency-Key').required, true)
  assert.equal(parameter('search.default', 'Idempotency-Key').required, false)
  const { schema, style, explode } = parameter('changes.read', 'event_type')
  assert.deepEqual([schema.items!.enum!.length, style, explode], [5, 'form', false])
  const { schemas } = description.components as unknown as { schemas: Record<string, Schema> }
  assert.deepEqual(schemas.KeywordSearchRequest!.properties!.mode!.enum, ['keyword'])
  // The limit that callers experience, whichever schema validates it.
  const queries = Object.entries(schemas).filter(
    ([name, { properties }]) => /Search|Live/.test(name) && properties?.query,
  )
  assert.deepEqual(
    queries.map(([name, { properties }]) => [name, properties!.query!.minLength, properties!.query!.maxLength]),
    ['History', 'Hybrid', 'Keyword', 'LiveQuery', '', 'Vector'].map((name) => [
      name === 'LiveQuery' ? 'LiveQueryRequest' : `${name}SearchRequest`,
      1,
      1000,
    ]),
  )
  assert.deepEqual(
    operations.filter(({ deprecated }) => deprecated === true).map(({ where }) => where),
    ['POST /v1/contents/search'],
  )
  assert.deepEqual(Object.keys(of('metrics.read').responses['200']!.content!), ['text/plain'])
})

test('errors are described by the one schema, 401 on every closed operation and 429 on every consumer one', () => {
  for (const { where, path, security, responses } of operations) {
    for (const [status, { content }] of Object.entries(responses)) {
      if (Number(status) < 400 || path === '/readyz') continue
      const [type] = Object.keys(content ?? {})
      // A malformed MCP message gets an error of that protocol.
      const name = path === '/mcp' && ['400', '408', '413', '415'].includes(status) ? 'McpError' : 'Error'
      assert.equal(content?.[type!]?.schema.$ref, `#/components/schemas/${name}`, `${where} ${status}`)
    }
    if (security!.length > 0) assert.ok('401' in responses && '431' in responses, where)
    if (path.startsWith('/v1/')) assert.ok('429' in responses && '400' in responses, where)
  }
  assert.deepEqual(Object.keys(description.components.schemas.Error.properties).sort(), [
    'code',
    'details',
    'message',
    'request_id',
  ])
  assert.deepEqual(Object.keys(description.components.securitySchemes).sort(), ['admin', 'collector', 'consumer'])
})

/**
 * Texts for people, or texts that are stored unchanged. Everything else in a body is an identifier or is compared with
 * one.
 */
const freeTexts = [
  new RegExp(`\\.(${documentFields.flatMap(({ name, kind }) => (kind === 'text' ? name : [])).join('|')})$`),
  /\.(body|nickname|avatar_url|home_page|biography)$/,
  /\.author\.extra\.\*$/,
  /\.(query|cursor)$/,
  /\/complete body\.error(\.message)?$/,
  // IDs of the service. A string that is no ID is listed as missing.
  /documents\/batch-get body\.document_ids\.\*$/,
]

test('a text in a body refuses what not every store can hold, but where it is free text', () => {
  let checked = 0
  const look = (at: string, schema: Schema): void => {
    if (schema.$ref !== undefined) look(at, schemas[schema.$ref.split('/').at(-1)!]!)
    for (const branch of [...(schema.anyOf ?? []), ...(schema.allOf ?? []), ...(schema.oneOf ?? [])]) look(at, branch)
    for (const [name, property] of Object.entries(schema.properties ?? {})) look(`${at}.${name}`, property)
    for (const [pattern, property] of Object.entries(schema.patternProperties ?? {})) {
      // Without a declared type it is JSON that is stored unchanged.
      if (property.type !== undefined || property.anyOf !== undefined) refuses(`names of ${at}`, pattern)
      look(`${at}.*`, property)
    }
    if (schema.items !== undefined) look(`${at}.*`, schema.items)
    if (schema.type !== 'string' || schema.enum !== undefined || schema.format !== undefined) return
    if (!freeTexts.some((pattern) => pattern.test(at))) refuses(at, schema.pattern ?? '')
  }
  const refuses = (at: string, pattern: string): void => {
    checked++
    // Halves of surrogate pairs are refused like NUL. The patterns do not contain them; see below.
    for (const odd of ['\0', 'a\0b']) {
      assert.ok(!new RegExp(pattern, 'u').test(odd), `${at} takes ${JSON.stringify(odd)}`)
    }
  }
  const schemas = description.components.schemas as unknown as Record<string, Schema>
  for (const { where, requestBody } of operations) {
    for (const { schema } of Object.values(requestBody?.content ?? {})) look(`${where} body`, schema)
  }
  assert.ok(checked > 30, `${checked} texts`)
})

test('every list of texts in a request of a consumer takes repeats, and reads them once', () => {
  const schemas = description.components.schemas as unknown as Record<string, Schema>
  const resolved = (schema: Schema) => (schema.$ref === undefined ? schema : schemas[schema.$ref.split('/').at(-1)!]!)
  const lists: string[] = []
  const look = (at: string, given: Schema): void => {
    const schema = resolved(given)
    for (const branch of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) look(at, branch)
    for (const [name, property] of Object.entries(schema.properties ?? {})) look(`${at}.${name}`, property)
    if (schema.items === undefined || resolved(schema.items).type === 'number') return
    lists.push(at)
    assert.equal(schema['x-read-once'], true, at)
  }
  for (const { where, path, requestBody } of operations) {
    const media = path.startsWith('/v1/') ? Object.values(requestBody?.content ?? {}) : []
    for (const { schema } of media) look(where, schema)
  }
  assert.ok(lists.includes('POST /v1/search.platforms') && lists.includes('POST /v1/documents/batch-get.document_ids'))
})

test('every pattern compiles in the languages of generated clients, Go, Rust and pydantic among them', () => {
  const patterns = new Set<string>()
  const look = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return
    const { pattern, patternProperties = {} } = part as {
      readonly pattern?: unknown
      readonly patternProperties?: object
    }
    if (typeof pattern === 'string') patterns.add(pattern)
    for (const name of Object.keys(patternProperties)) patterns.add(name)
    for (const below of Object.values(part)) look(below)
  }
  look(description)
  assert.ok(patterns.size > 5)
  // No \u0000 (Go), no halves of surrogate pairs (Rust), no look-around (both).
  for (const pattern of patterns) assert.doesNotMatch(pattern, /\\[up]|\(\?[=!<]/)
})
