import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, suite, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { documentsOf } from './content.ts'
import { expectError } from './expect-error.ts'
import { fakeProfile } from './fake-embedding.ts'
import type { Answer } from './harness.ts'
import { type SearchWorld, sharedWorld } from './search-world.ts'

const dataset = 'nulls-news'
const platform = 'nulls'

interface Schema {
  readonly $ref?: string
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly anyOf?: readonly Schema[]
}
interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
}
type Body = Readonly<Record<string, unknown>>
type Path = readonly string[]

/** Null for an optional field counts as absent. */
suite('null in a request', () => {
  let world: SearchWorld
  let key: string
  let operations: ReadonlyMap<string, Schema>
  let bodies: Readonly<Record<string, Body>>
  let schemas: Readonly<Record<string, Schema>>

  before(async () => {
    world = await sharedWorld([dataset])
    const { server } = world
    const policy = {
      analysis_enabled: true,
      analysis: { types: ['knn_graph'] },
      live: { enabled: true },
      requests_per_second: 10_000,
      burst: 10_000,
    }
    key = (await server.makeApplication({ entitlements: [{ datasets: [dataset] }], policy })).key
    const document = documentsOf(dataset)('one', { source_platform: platform, body: 'The harbour is open.' })
    await world.putIndexed(document)
    const [{ document: found }] = (await server.consumer(key, 'GET', '/v1/documents/browse')).body.documents
    // A live query of a platform is only accepted while a collector polls for its tasks.
    const asked = await server.collector(world.collector, 'POST', '/collector/v1/tasks/lease', {
      platforms: [platform],
    })
    assert.equal(asked.status, 200, asked.text)

    const description = (await server.call('GET', '/openapi.json')).body
    schemas = description.components.schemas
    operations = new Map(
      Object.entries(description.paths as Record<string, { readonly post?: Operation }>).flatMap(([path, { post }]) => {
        const schema = post?.requestBody?.content['application/json']?.schema
        return path.startsWith('/v1/') && schema !== undefined ? [[path, schema]] : []
      }),
    )
    const search = { query: 'harbour' }
    const withLive = { ...search, live: { enabled: false, resource_kind: 'content' } }
    // This type is not executed here, so it only needs a scope.
    const analysis = { analysis_type: 'feature_rollup', input_scope: { dataset_ids: [dataset] }, parameters: {} }
    bodies = {
      '/v1/search': withLive,
      '/v1/contents/search': withLive,
      '/v1/search/history': search,
      '/v1/search/keyword': search,
      '/v1/search/vector': search,
      '/v1/search/hybrid': search,
      '/v1/documents/batch-get': { document_ids: [found.id] },
      '/v1/live-queries': { ...search, datasets: [dataset], platforms: [platform], resource_kind: 'content' },
      '/v1/analysis/runs': analysis,
      '/v1/analysis/subscriptions': { ...analysis, name: 'nulls', execution_mode: 'scheduled' },
    }
  })

  const schemaOf = (schema: Schema): Schema =>
    schema.$ref === undefined ? schema : schemas[schema.$ref.split('/').at(-1)!]!

  /** The paths of fields whose parent is in the body: either the optional or the required ones. */
  function fieldsIn(schema: Schema, body: unknown, wanted: 'optional' | 'required', at: Path = []): Path[] {
    if (typeof body !== 'object' || body === null || Array.isArray(body)) return []
    const { anyOf, ...own } = schemaOf(schema)
    const choices = [own, ...(anyOf ?? [])].map(schemaOf)
    const required = new Set(choices.flatMap((one) => one.required ?? []))
    const fields = Object.entries(Object.assign({}, ...choices.map(({ properties }) => properties)))
    return fields.flatMap(([name, field]) => {
      const here = [...at, name]
      const isWanted = wanted === (required.has(name) ? 'required' : 'optional')
      return [...(isWanted ? [here] : []), ...fieldsIn(field as Schema, (body as Body)[name], wanted, here)]
    })
  }

  function put(body: Body, [name, ...below]: Path, value: unknown): Body {
    const { [name!]: there, ...others } = body
    if (below.length > 0) return { ...body, [name!]: put(there as Body, below, value) }
    return value === undefined ? others : { ...others, [name!]: value }
  }

  const post = (path: string, body: Body, idempotencyKey: string): Promise<Answer> =>
    world.server.call('POST', path, {
      headers: { authorization: `Bearer ${key}`, 'idempotency-key': idempotencyKey },
      body,
    })

  /**
   * Both requests make the same object with one id, because an `Idempotency-Key` with a different request is refused.
   */
  async function isAnsweredAlike(path: string, body: Body, other: Body, about: string): Promise<void> {
    const idempotencyKey = randomUUID()
    const [first, second] = [await post(path, body, idempotencyKey), await post(path, other, idempotencyKey)]
    assert.equal(second.status, first.status, `${about}: ${second.text}`)
    const { request_id: _, ...one } = first.body
    const { request_id: __, ...two } = second.body
    if (first.status !== 202) assert.deepEqual(two, one, about)
    else assert.equal(two.run_id ?? two.id, one.run_id ?? one.id, about)
  }

  test('every POST with a body is tested here', () => {
    assert.deepEqual([...operations.keys()].sort(), Object.keys(bodies).sort())
  })

  test('each optional field: null is as if it were absent, also within objects', async () => {
    let tested = 0
    for (const [path, body] of Object.entries(bodies)) {
      let all = body
      for (const field of fieldsIn(operations.get(path)!, body, 'optional')) {
        const without = put(body, field, undefined)
        await isAnsweredAlike(path, without, put(body, field, null), `${path} ${field.join('.')}`)
        if (isDeepStrictEqual(without, body)) all = put(all, field, null)
        tested++
      }
      await isAnsweredAlike(path, body, all, `${path} with all of them`)
      assert.ok((await post(path, all, randomUUID())).status < 300, path)
    }
    assert.ok(tested > 100, `${tested} fields`)
  })

  test('each required field: null is refused, and so is an unknown field', async () => {
    for (const [path, body] of Object.entries(bodies)) {
      for (const field of [...fieldsIn(operations.get(path)!, body, 'required'), ['surprise']]) {
        // The top-up is switched off, so its other fields do not count.
        if (field.join('.') === 'live.resource_kind') continue
        const answer = await post(path, put(body, field, null), randomUUID())
        await expectError(world.server, answer, 400, answer.body.code)
        const paths = answer.body.details.map((detail: { path: string }) => detail.path)
        assert.ok(paths.includes(field.join('.')), answer.text)
      }
    }
  })

  test('what a run or a subscription is answered as can be sent back', async () => {
    const input_scope = { dataset_ids: [dataset], published_to: null }
    for (const [path, body] of [
      ['/v1/analysis/runs', { analysis_type: 'knn_graph', embedding_profile_id: fakeProfile, input_scope }],
      ['/v1/analysis/runs', bodies['/v1/analysis/runs']!],
      ['/v1/analysis/subscriptions', bodies['/v1/analysis/subscriptions']!],
    ] as const) {
      const first = await post(path, body, randomUUID())
      assert.ok(first.status < 300, first.text)
      const names = Object.keys(schemaOf(operations.get(path)!).properties!)
      const asRequest = (answer: Answer['body']): Body =>
        Object.fromEntries(names.flatMap((name) => (name in answer ? [[name, answer[name]]] : [])))
      const sent = asRequest(first.body)
      assert.ok(Object.values(sent).includes(null) || sent.parameters !== undefined, first.text)
      const second = await post(path, sent, randomUUID())
      assert.equal(second.status, first.status, second.text)
      assert.deepEqual(asRequest(second.body), sent)
    }
  })
})
