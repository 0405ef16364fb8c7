import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { AnalysisWorld } from './analysis-world.ts'
import { documentsOf, type FeedPage } from './content.ts'
import { expectError } from './expect-error.ts'
import { type SearchWorld, sharedWorld } from './search-world.ts'

const dataset = 'times-news'
const documentOf = documentsOf(dataset)
const zeroTime = '0001-01-01T00:00:00Z'

/** Every parameter for a time uses all its digits, and accepts the first year like any other. */
suite('times', () => {
  let world: SearchWorld
  let analysis: AnalysisWorld
  let created: { readonly from: string; readonly to: string }

  before(async () => {
    world = await sharedWorld([dataset])
    const { key, applicationId } = await world.server.makeApplication({
      entitlements: [{ datasets: [dataset] }],
      policy: { analysis_enabled: true, analysis: { types: ['feature_rollup'] } },
    })
    analysis = new AnalysisWorld(world, key, applicationId)
    const startMs = Date.now() - 1000
    const document = (name: string, published_at?: string) =>
      documentOf(name, { title: null, body: `The tide at ${name}.`, ...(published_at ? { published_at } : {}) })
    await world.putIndexed(
      document('zero', zeroTime),
      document('year 99', '0099-12-31T23:59:59.999+00:00'),
      document('before', '2026-03-01T10:20:59.999Z'),
      document('after', '2026-03-01T10:21:00.000Z'),
      document('fine', '2026-03-01T10:21:00.0010009999999999999999999999999Z'),
      document('unknown'),
    )
    created = { from: new Date(startMs).toISOString(), to: new Date(Date.now() + 60_000).toISOString() }
  })

  const published = (from?: string, to?: string) => ({
    ...(from === undefined ? {} : { published_from: from }),
    ...(to === undefined ? {} : { published_to: to }),
  })
  async function browsed(times: Record<string, string>, key = world.key): Promise<string[]> {
    const answer = await world.server.consumer(key, 'GET', `/v1/documents/browse?${new URLSearchParams(times)}`)
    assert.equal(answer.status, 200, answer.text)
    return answer.body.documents.map(({ document }: { document: { external_id: string } }) => document.external_id)
  }

  /** Bounds, and the documents between them. */
  const cases: readonly (readonly [string | undefined, string | undefined, readonly string[]])[] = [
    ['2026-03-01T10:20:59.999Z', '2026-03-01T10:21:00Z', ['before']],
    ['2026-03-01T10:20:59.9995Z', '2026-03-01T10:21:00.0000001Z', ['after']],
    [`2026-03-01T10:20:59.999${'0'.repeat(900)}1Z`, '2026-03-01T10:21:00.000000Z', []],
    ['2026-03-01T10:20:59.9990000000Z', '2026-03-01T10:21:00.0005Z', ['after', 'before']],
    ['2026-03-01T10:21:00.0001Z', '2026-03-01T10:21:00.0009Z', []],
    ['2026-03-01T11:21:00.001+01:00', undefined, ['fine']],
    ['2026-03-01T10:21:00.001000999Z', undefined, []],
    [undefined, '0001-01-01T00:00:00.0001Z', ['zero']],
    [undefined, zeroTime, []],
    [zeroTime, '0100-01-01T00:00:00Z', ['year 99', 'zero']],
    [zeroTime, '9999-12-31T23:59:59.9999999Z', ['after', 'before', 'fine', 'year 99', 'zero']],
    ['9999-12-31T23:59:59.9999999Z', undefined, []],
  ]

  for (const [from, to, expected] of cases) {
    const times = published(from, to)
    test(`published from ${from} to ${to}: ${expected}`, async () => {
      for (const mode of ['keyword', 'vector', 'hybrid']) {
        assert.deepEqual((await world.names({ query: 'tide', mode, ...times })).sort(), expected, mode)
      }
      assert.deepEqual((await browsed(times)).sort(), expected, 'browse')
      const { key } = await world.server.makeApplication({ entitlements: [{ datasets: [dataset], ...times }] })
      assert.deepEqual((await world.names({ query: 'tide' }, key)).sort(), expected, 'search by entitlement')
      assert.deepEqual((await browsed({}, key)).sort(), expected, 'browse by entitlement')
      const run = await analysis.ended((await counting({ input_scope: { dataset_ids: [dataset], ...times } })).run_id)
      assert.deepEqual([run.status, run.input?.documents], ['succeeded', expected.length], JSON.stringify(run))
    })
  }

  const counting = (changes: object) =>
    analysis.create({
      analysis_type: 'feature_rollup',
      embedding_profile_id: undefined,
      parameters: { by: ['platform'], bucket: 'week' },
      ...changes,
    })

  test('the zero time is a time like any other: in answers, orders and counts', async () => {
    const hits = (await world.search({ query: 'tide', sort: 'published_at', limit: 2 })).results
    assert.deepEqual(world.namesOf(hits), ['zero', 'year 99'])
    assert.deepEqual(
      hits.map(({ published_at }) => published_at),
      ['0001-01-01T00:00:00.000Z', '0099-12-31T23:59:59.999Z'],
    )
    assert.deepEqual(await world.names({ query: 'tide', sort: '-published_at' }), [
      'fine',
      'after',
      'before',
      'year 99',
      'zero',
      'unknown',
    ])
    for (const [bucket, days] of [
      ['day', ['0001-01-01 1', '0099-12-31 1', '2026-03-01 3']],
      ['week', ['0001-01-01 1', '0099-12-28 1', '2026-02-23 3']],
      ['month', ['0001-01-01 1', '0099-12-01 1', '2026-03-01 3']],
    ] as const) {
      const { facets } = await world.search({ query: 'tide', facets: [{ published_at: bucket }] })
      const counts = (facets as { published_at: { value: string; count: number }[] }).published_at
      assert.deepEqual(counts.map(({ value, count }) => `${value} ${count}`).sort(), days)
    }
    const { results } = await world.search({ query: 'tide at zero', mode: 'hybrid' })
    assert.equal(results.length, 6)
    assert.ok(results.every(({ score }) => score >= 0 && score <= 1))
  })

  test('the zero time is in exports, and in the tables of an analysis', async () => {
    const ask = async (accept: string) => {
      const headers = { authorization: `Bearer ${world.key}`, accept }
      return fetch(new URL('/v1/export', world.server.address), { headers })
    }
    const lines = (await (await ask('application/x-ndjson')).text())
      .split('\n')
      .filter((line) => line.includes('"zero"'))
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).document.published_at),
      ['0001-01-01T00:00:00.000Z'],
    )
    const file = await (await ask('application/vnd.apache.parquet')).arrayBuffer()
    const rows = await parquetReadObjects({ file, compressors })
    const row = rows.find(({ external_id }) => external_id === 'zero')
    assert.deepEqual(row?.published_at, new Date(zeroTime))
    const run = await analysis.ended((await counting({ input_scope: { dataset_ids: [dataset] } })).run_id)
    const table = await analysis.table<{ bucket: Date | null }>(run.run_id, 'rollup')
    const weeks = table.map((one) => one.bucket?.toISOString().slice(0, 10) ?? null).sort()
    assert.deepEqual(weeks, ['0001-01-01', '0099-12-28', '2026-02-23', null])
  })

  test('a document has milliseconds: finer digits that a collector sends are cut off', async () => {
    const hit = (await world.search({ query: 'fine' })).results[0]!
    assert.equal(hit.published_at, '2026-03-01T10:21:00.001Z')
  })

  test('the times of first ingest and of events are as fine', async () => {
    const page = async (times: Record<string, string>): Promise<FeedPage> => {
      const query = new URLSearchParams({ dataset_id: dataset, ...times })
      const answer = await world.server.consumer(world.key, 'GET', `/v1/changes?${query}`)
      assert.equal(answer.status, 200, answer.text)
      return answer.body
    }
    const { items } = await page({})
    assert.deepEqual(await page({ ingested_from: zeroTime }).then((found) => found.items), items)
    const at = items.at(-1)!.ingested_at
    const later = at.replace('Z', '0001Z')
    const same = items.filter(({ ingested_at }) => ingested_at === at)
    assert.deepEqual((await page({ ingested_from: at })).items, same)
    assert.deepEqual((await page({ ingested_from: later })).items, [])
    assert.deepEqual((await page({ ingested_to: later })).items, items)
    assert.deepEqual(await page({ ingested_to: at }).then((found) => found.items.length), items.length - same.length)

    const { documents } = (await world.server.consumer(world.key, 'GET', '/v1/documents/browse')).body
    const [{ document }] = documents
    const all = (await browsed({ created_from: created.from, created_to: created.to })).length
    const newest = documents.filter(
      (one: (typeof documents)[0]) => one.document.created_at === document.created_at,
    ).length
    const fine = document.created_at.replace('Z', '0001Z')
    assert.equal((await browsed({ created_from: document.created_at, created_to: created.to })).length, newest)
    assert.equal((await browsed({ created_from: fine, created_to: created.to })).length, 0)
    assert.equal((await browsed({ created_from: created.from, created_to: fine })).length, all)
    assert.equal((await browsed({ created_from: created.from, created_to: document.created_at })).length, all - newest)
    const input = async (times: object) => {
      const run = await analysis.ended((await counting({ input_scope: { dataset_ids: [dataset], ...times } })).run_id)
      return run.input?.documents
    }
    assert.deepEqual(
      await Promise.all([{ created_from: fine }, { created_to: fine }, { created_to: document.created_at }].map(input)),
      [0, all, all - newest],
    )
    // An answer with the last year that a time can have.
    const last = { created_from: '9999-12-31T00:00:00Z', created_to: '9999-12-31T23:59:59.9999Z' }
    const answer = await world.server.consumer(world.key, 'GET', `/v1/documents/browse?${new URLSearchParams(last)}`)
    assert.equal(answer.body.created_to, '9999-12-31T23:59:59.999Z')
  })

  test('an interval without anything in it is 400 on every surface, to the last digit', async () => {
    const [from, to] = ['2026-03-01T10:21:00.00000000000000000002Z', '2026-03-01T10:21:00.00000000000000000001Z']
    const interval = (name: string) => ({ [`${name}_from`]: from, [`${name}_to`]: to })
    const query = (name: string) => new URLSearchParams(interval(name))
    const { server, key } = world
    const get = (path: string) => server.consumer(key, 'GET', path)
    for (const name of ['published', 'created']) {
      await expectError(server, await get(`/v1/documents/browse?${query(name)}`), 400, 'invalid_document_query')
      await expectError(server, await get(`/v1/users/rss/u?${query(name)}`), 400, 'invalid_document_query')
      const scope = { dataset_ids: [dataset], ...interval(name) }
      const run = await analysis.post(analysis.request({ input_scope: scope }))
      await expectError(server, run, 400, 'invalid_analysis_request')
    }
    await expectError(server, await get(`/v1/changes?${query('ingested')}`), 400, 'invalid_changes_query')
    await expectError(server, await world.raw({ query: 'tide', ...interval('published') }), 400, 'invalid_query')
    const entitlements = [{ datasets: [dataset], ...interval('published') }]
    const refused = await server.admin('POST', '/admin/v1/applications', { name: 'none', entitlements })
    await expectError(server, refused, 400, 'invalid_request')
  })

  test('what is no time is 400: other years, and more than 1,000 characters', async () => {
    for (const time of ['0000-12-31T23:59:59Z', '10000-01-01T00:00:00Z', `2026-03-01T10:21:00.${'1'.repeat(980)}Z`]) {
      const answer = await world.raw({ query: 'tide', published_from: time })
      await expectError(world.server, answer, 400, 'invalid_query')
      assert.deepEqual(answer.body.details[0].path, 'published_from')
    }
  })
})
