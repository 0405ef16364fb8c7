import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { until } from '../support/until.ts'
import { documentOf, OpenRequest, sendLines } from './content.ts'
import { expectError } from './expect-error.ts'
import { FakeEmbedding } from './fake-embedding.ts'
import { type Answer, startServer, type TestServer } from './harness.ts'
import { withoutTable } from './store-surgery.ts'

/** A failure is in the log once, with its cause and the id of its request, and in the metrics. */
let server: TestServer
let embedding: FakeEmbedding
let key: string
let collector: string

before(async () => {
  embedding = await new FakeEmbedding().start()
  server = await startServer({ env: embedding.env })
  await server.makeDataset('news')
  collector = (await server.makeCollector()).key
  key = (await server.makeApplication({ entitlements: [{ datasets: ['news'] }], policy: { live: { enabled: true } } }))
    .key
})

const lines = (count: number, name: string): string =>
  Array.from({ length: count }, (_, i) => `${JSON.stringify(documentOf(`${name}-${i}`))}\n`).join('')

async function counted(metric: string): Promise<number> {
  const { text } = await server.admin('GET', '/metrics')
  const line = text.split('\n').find((one) => one.startsWith(`${metric} `))
  return line === undefined ? 0 : Number(line.slice(metric.length))
}

/** Log lines about a request, other than the one that every request has. */
async function toldOf(answer: Pick<Answer, 'headers'>): Promise<Record<string, unknown>[]> {
  const reqId = answer.headers.get('x-request-id')
  const about = () => server.logs.filter((line) => line.reqId === reqId)
  await until('the log has the request', async () => about().some(({ msg }) => msg === 'request'))
  return about().filter(({ msg }) => msg !== 'request')
}

async function expectToldOnce(answer: Pick<Answer, 'headers'>, level: number, cause: RegExp): Promise<void> {
  const told = await toldOf(answer)
  assert.equal(told.length, 1, JSON.stringify(told))
  assert.equal(told[0]!.level, level)
  const { message, stack } = told[0]!.err as { message: string; stack: string }
  assert.match(message, cause)
  assert.match(stack, /\n {4}at /)
}

const info = 30
const warn = 40
const error = 50

suite('a defect is never called unavailability: 500, logged once with its cause, counted', () => {
  const noTable = /no such table: |relation ".*" does not exist/
  const requests: [string, string, () => Promise<Answer>][] = [
    ['browse', 'document', () => server.consumer(key, 'GET', '/v1/documents/browse')],
    ['a user', 'document', () => server.consumer(key, 'GET', '/v1/users/rss/u1')],
    ['classifications', 'classification', () => server.consumer(key, 'GET', '/v1/classifications?dataset_id=news')],
    ['the change feed', 'event', () => server.consumer(key, 'GET', '/v1/changes')],
    ['a batch', 'event', () => server.collector(collector, 'POST', '/collector/v1/documents', batch)],
    ['a stream of lines from its first on', 'event', () => sendLines(server, collector, lines(600, 'never'))],
    [
      'a live query',
      'live_key',
      () =>
        server.call('POST', '/v1/live-queries', {
          headers: { authorization: `Bearer ${key}`, 'idempotency-key': 'one' },
          body: { query: 'tide', datasets: ['news'], platforms: ['rss'], resource_kind: 'content' },
        }),
    ],
  ]
  const batch = { documents: [documentOf('never')] }

  for (const [what, table, ask] of requests) {
    test(what, async () => {
      const metric = 'tidemark_errors_total{code="internal"}'
      const before = await counted(metric)
      const answer = await withoutTable(server, table, ask)
      await expectError(server, answer, 500, 'internal')
      await expectToldOnce(answer, error, noTable)
      assert.equal(await counted(metric), before + 1)
    })
  }

  test('in the middle of a stream of lines: each later line says so, the log has it once', async () => {
    const metric = 'tidemark_degraded_answers_total{warning="not_stored"}'
    const stream = new OpenRequest(server, collector)
    await stream.write(lines(1, 'kept'))
    await stream.results(1)
    await withoutTable(server, 'event', async () => {
      await stream.write(lines(600, 'lost'))
      stream.end()
      await stream.ended
    })
    assert.equal(stream.status, 200)
    const [kept, ...lost] = stream.parsed
    assert.equal(kept!.outcome, 'created')
    assert.equal(lost.length, 600)
    for (const { error } of lost) {
      assert.equal(error!.code, 'not_stored')
      assert.match(error!.message, /not in your document.*request ID/)
    }
    await expectToldOnce(stream, error, noTable)
    assert.equal(await counted(metric), 1)
    const again = await sendLines(server, collector, lines(2, 'lost'))
    assert.deepEqual(
      again.body.results.map(({ outcome }: { outcome: string }) => outcome),
      ['created', 'created'],
    )
  })
})

suite('a degraded answer', () => {
  for (const [mode, path] of [
    ['hybrid', '/v1/search/hybrid'],
    ['vector', '/v1/search/vector'],
  ] as const) {
    test(`${mode}: is logged with what the vector branch failed of, and counted`, async () => {
      const metric = 'tidemark_degraded_answers_total{warning="vector_search_unavailable"}'
      const before = await counted(metric)
      embedding.behaviour = 'errors'
      const answer = await server.consumer(key, 'POST', path, { query: `tide ${mode}` })
      embedding.recover()
      assert.equal(answer.status, 200)
      assert.equal(answer.body.degraded, true)
      await expectToldOnce(answer, warn, /HTTP 500/)
      assert.equal(await counted(metric), before + 1)
    })
  }

  test('a live top-up that nobody serves is told with its reason', async () => {
    const metric = 'tidemark_degraded_answers_total{warning="live_query_unavailable"}'
    const answer = await server.call('POST', '/v1/search', {
      headers: { authorization: `Bearer ${key}`, 'idempotency-key': 'two' },
      body: {
        query: 'tide',
        datasets: ['news'],
        platforms: ['rss'],
        live: { enabled: true, resource_kind: 'content' },
      },
    })
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(
      answer.body.warnings.map(({ code }: { code: string }) => code),
      ['live_query_unavailable'],
    )
    await expectToldOnce(answer, warn, /no collector/)
    assert.equal(await counted(metric), 1)
  })

  test('a whole answer is neither', async () => {
    const answer = await server.consumer(key, 'POST', '/v1/search/keyword', { query: 'tide' })
    assert.deepEqual([answer.status, answer.body.degraded], [200, false])
    assert.deepEqual(await toldOf(answer), [])
  })
})

test('a background job that fails is logged once, counted each time, and its recovery is told', async () => {
  const metric = 'tidemark_background_failures_total{job="live"}'
  const said = () => server.logs.filter(({ job }) => job === 'live')
  const isWell = async () => (said().at(-1)?.level ?? info) === info
  // An earlier test may have made the job fail.
  await until('the job is well', isWell)
  const [before, failures] = [said().length, await counted(metric)]
  await withoutTable(server, 'live_query', async () => {
    await until('it has failed twice', async () => (await counted(metric)) >= failures + 2)
    await until('it is told', async () => said().length > before)
  })
  await until('it works again', isWell)
  const told = said().slice(before)
  assert.deepEqual(
    told.map(({ level }) => level),
    [error, info],
  )
  assert.match((told[0]!.err as { message: string }).message, /live_query/)
})

test('an index that cannot be fed says so once something acknowledged is missing for long, and until it has it', async () => {
  const body = { query: 'unfed' }
  const found = async (): Promise<Answer['body']> => {
    const answer = await server.consumer(key, 'POST', '/v1/search/keyword', body)
    assert.equal(answer.status, 200, answer.text)
    return answer.body
  }
  const isBehind = () => counted('tidemark_index_behind')
  const indexing = async () => (await server.mustAdmin('GET', '/admin/v1/indexing')).warnings.join()
  assert.deepEqual([(await found()).degraded, await isBehind()], [false, 0])
  await withoutTable(server, 'chunk', async () => {
    await sendLines(server, collector, `${JSON.stringify(documentOf('unfed'))}\n`)
    await until('a search says so', async () => (await found()).degraded)
    const { warnings, results } = await found()
    assert.deepEqual(results, [])
    assert.equal(warnings[0].code, 'search_index_behind')
    assert.match(warnings[0].message, /accepted more than 10 seconds ago may be missing/)
    assert.equal(await isBehind(), 1)
    assert.match(await indexing(), /is missing documents that were acknowledged long ago/)
    const ready = await server.call('GET', '/readyz')
    assert.match(ready.body.checks.index.detail, /is missing documents that were acknowledged long ago/)
    const values = await server.consumer(key, 'GET', '/v1/values/dataset')
    await expectError(server, values, 503, 'catalog_unavailable')
  })
  await until('it is found, and nothing is missing', async () => {
    const { results, degraded } = await found()
    return results.length === 1 && !degraded
  })
  assert.equal(await isBehind(), 0)
  assert.doesNotMatch(await indexing(), /acknowledged long ago/)
})

test('every error of the kind is in the metrics from the start, so that a rate can be taken of it', async () => {
  const { text } = await server.admin('GET', '/metrics')
  for (const code of ['internal', 'store_unavailable', 'changes_unavailable', 'overloaded']) {
    assert.match(text, new RegExp(`^tidemark_errors_total\\{code="${code}"\\} \\d+$`, 'm'))
  }
})

test('what fails once its work has begun is counted as used where there can be a daily quota, and nowhere else', async () => {
  const { key: own } = await server.makeApplication({ entitlements: [{ datasets: ['news'] }] })
  for (const [table, path] of [
    ['event', '/v1/changes'],
    ['document', '/v1/documents/browse'],
  ] as const) {
    const failed = await withoutTable(server, table, () => server.consumer(own, 'GET', path))
    assert.equal(failed.status, 500, failed.text)
  }
  const { operations } = (await server.consumer(own, 'GET', '/v1/account')).body.usage
  assert.deepEqual([operations['changes.read'], operations['documents.browse']], [1, undefined])
})
