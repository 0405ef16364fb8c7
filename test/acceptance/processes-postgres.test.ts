import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { until } from '../support/until.ts'
import { documentOf, feedPage, send, wholeFeed } from './content.ts'
import { FakeEmbedding, fakeProfile } from './fake-embedding.ts'
import { freshFolder, startBeside, startServer, type TestServer } from './harness.ts'

/** Several processes serve one database. The promises for one process hold for all of them together. */
describe('processes that share a store', () => {
  let embedding: FakeEmbedding
  let processes: TestServer[]
  let worker: TestServer
  let collector: string
  let env: Record<string, string>
  const at = (i: number): TestServer => processes[i % processes.length]!

  before(async () => {
    embedding = await new FakeEmbedding().start()
    env = {
      ...embedding.env,
      TIDEMARK_ROLES: 'api',
      TIDEMARK_ARTIFACTS_URL: pathToFileURL(freshFolder()).href,
    }
    const first = await startServer({ env })
    const beside = [env, env, { ...env, TIDEMARK_ROLES: 'worker' }]
    const [second, third, fourth] = await Promise.all(beside.map((one) => startBeside(first, one)))
    processes = [first, second!, third!]
    worker = fourth!
    await first.makeDataset('news')
    collector = (await first.makeCollector()).key
  })
  after(async () => {
    await Promise.all([...processes, worker].map((one) => one.stop()))
    await embedding.stop()
  })

  test('1,000 requests race for 100 units of a daily quota: 100 pass', async () => {
    const { key } = await at(0).makeApplication({
      entitlements: [{ datasets: ['news'] }],
      policy: { daily_quotas: { search: 100 } },
    })
    const statuses = await inParallel(1000, 50, async (i) => {
      const answer = await at(i).consumer(key, 'POST', '/v1/search', { query: 'word' })
      return answer.status
    })
    assert.equal(statuses.filter((status) => status === 200).length, 100)
    assert.equal(statuses.filter((status) => status === 429).length, 900)
  })

  test('the rate of an application holds over all of them', async () => {
    const { key } = await at(0).makeApplication({ policy: { requests_per_second: 0.01, burst: 30 } })
    const statuses = await inParallel(90, 30, async (i) => (await at(i).consumer(key, 'GET', '/v1/account')).status)
    assert.equal(statuses.filter((status) => status === 200).length, 30)
    assert.equal(statuses.filter((status) => status === 429).length, 60)
  })

  test('a revoked key, a changed policy and changed entitlements act everywhere within a second', async () => {
    const { key, keyId, applicationId } = await at(0).makeApplication({ entitlements: [{ datasets: ['news'] }] })
    const account = (i: number) => at(i).consumer(key, 'GET', '/v1/account')
    for (const i of [0, 1, 2]) assert.equal((await account(i)).status, 200)
    await at(1).mustAdmin('PATCH', `/admin/v1/applications/${applicationId}`, { policy: { analysis_enabled: true } })
    await at(2).mustAdmin('PUT', `/admin/v1/applications/${applicationId}/entitlements`, { entitlements: [] })
    for (const i of [0, 1, 2]) {
      await until(`process ${i} knows the changes`, async () => {
        const { body } = await account(i)
        return body.policy.analysis_enabled === true && body.entitlements.length === 0
      })
    }
    const token = await at(0).mustAdmin('POST', '/admin/v1/tokens', { name: 'Ada', role: 'viewer' })
    const datasets = (i: number) => at(i).as(token.admin_token, 'GET', '/admin/v1/datasets')
    for (const i of [0, 1, 2]) assert.equal((await datasets(i)).status, 200)
    await at(0).mustAdmin('POST', `/admin/v1/keys/${keyId}/revoke`)
    await at(0).mustAdmin('POST', `/admin/v1/tokens/${token.token_id}/revoke`)
    for (const i of [0, 1, 2]) {
      await until(`process ${i} refuses the key`, async () => (await account(i)).status === 401)
      await until(`process ${i} refuses the admin token`, async () => (await datasets(i)).status === 401)
    }
  })

  test('what one erases no other finds, and it is completed when the index of each is rid of it', async () => {
    const { key } = await at(0).makeApplication({ entitlements: [{ datasets: ['news'] }] })
    const word = 'erasedeverywhere'.padEnd(40, 'x')
    const [gone] = await send(at(0), collector, [documentOf('erased-1', { title: word, body: word, tags: [word] })])
    const found = async (i: number) =>
      (await at(i).consumer(key, 'POST', '/v1/search', { query: word, mode: 'keyword' })).body.results.length
    for (const i of [0, 1, 2]) await until(`process ${i} finds it`, async () => (await found(i)) === 1)
    const inFiles = (server: TestServer): boolean =>
      readdirSync(server.dataDir, { recursive: true, withFileTypes: true })
        .filter((one) => one.isFile())
        .some((one) => readFileSync(join(one.parentPath, one.name), 'latin1').includes(word))
    assert.deepEqual(processes.map(inFiles), [true, true, true])
    const begun = await at(1).admin('DELETE', `/admin/v1/documents/${gone!.document_id}`)
    assert.equal(begun.status, 202, begun.text)
    for (const i of [0, 1, 2]) {
      assert.equal(await found(i), 0)
      assert.equal((await at(i).consumer(key, 'GET', `/v1/documents/${gone!.document_id}`)).status, 404)
    }
    const status = async () => (await at(2).mustAdmin('GET', `/admin/v1/erasures/${begun.body.erasure_id}`)).status
    await until('it is completed', async () => (await status()) === 'completed')
    assert.deepEqual(processes.map(inFiles), [false, false, false])
  })

  test('a cursor of one process is good at every other, and what one takes in wakes a reader at another', async () => {
    const { key } = await at(0).makeApplication({ entitlements: [{ datasets: ['news'] }] })
    await send(at(0), collector, [documentOf('cursor-1')])
    const { cursor } = await wholeFeed(at(0), key)
    const waiting = feedPage(at(1), key, { cursor, wait: 30 })
    const startedMs = performance.now()
    const [result] = await send(at(2), collector, [documentOf('cursor-2')])
    const page = await waiting
    assert.deepEqual(
      page.items.map((event) => event.document_id),
      [result!.document_id],
    )
    assert.ok(performance.now() - startedMs < 10_000)
    assert.deepEqual((await feedPage(at(2), key, { cursor: page.next_cursor })).items, [])
  })

  test('one document sent to all of them at once is one document with one event', async () => {
    const { key } = await at(0).makeApplication({ entitlements: [{ datasets: ['news'] }] })
    const { cursor } = await wholeFeed(at(0), key)
    const results = await Promise.all(
      Array.from({ length: 12 }, (_, i) => send(at(i), collector, [documentOf('same')])),
    )
    assert.equal(new Set(results.map(([one]) => one!.document_id)).size, 1)
    assert.equal(results.filter(([one]) => one!.outcome === 'created').length, 1)
    assert.equal((await wholeFeed(at(1), key, { cursor })).events.length, 1)
  })

  test('an idempotency key names one live query, wherever it is sent', async () => {
    const { key } = await at(0).makeApplication({
      entitlements: [{ datasets: ['news'] }],
      policy: { live: { enabled: true, max_concurrent: 1 } },
    })
    await at(1).collector(collector, 'POST', '/collector/v1/tasks/lease', { platforms: ['rss'] })
    const body = { query: 'x', datasets: ['news'], platforms: ['rss'], resource_kind: 'content' }
    const ask = (i: number, idempotencyKey: string) =>
      at(i).call('POST', '/v1/live-queries', {
        headers: { authorization: `Bearer ${key}`, 'idempotency-key': idempotencyKey },
        body,
      })
    const answers = await Promise.all(Array.from({ length: 9 }, (_, i) => ask(i, 'one')))
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([202]))
    assert.equal(new Set(answers.map((answer) => answer.body.id)).size, 1)
    assert.equal((await ask(2, 'another')).status, 429)
  })

  test('every process finds what any of them took in, by words and by meaning', async () => {
    const { key } = await at(0).makeApplication({ entitlements: [{ datasets: ['news'] }] })
    await send(at(1), collector, [documentOf('whale', { title: 'Humpbacks', body: 'whales sing in the deep sea' })])
    for (const i of [0, 1, 2]) {
      for (const mode of ['keyword', 'vector']) {
        await until(`process ${i} finds it by ${mode}`, async () => {
          const answer = await at(i).consumer(key, 'POST', '/v1/search', { query: 'whales sing', mode })
          return answer.body.degraded === false && answer.body.results[0]?.title === 'Humpbacks'
        })
      }
    }
  })

  test('when the one that makes vectors is gone another does it, and one that comes back has missed nothing', async () => {
    const { key } = await at(0).makeApplication({ entitlements: [{ datasets: ['news'] }] })
    const finds = (i: number, text: string, title: string) =>
      until(`process ${i} finds ${title} by meaning`, async () => {
        const answer = await at(i).consumer(key, 'POST', '/v1/search', { query: text, mode: 'vector' })
        return answer.body.degraded === false && answer.body.results[0]?.title === title
      })
    for (const gone of [0, 1]) {
      await at(gone).kill9()
      const title = `While ${gone} was away`
      const body = `nobody counted the ${gone === 0 ? 'herons' : 'kingfishers'} at the weir`
      await send(at(2), collector, [documentOf(`away-${gone}`, { title, body })])
      await finds(2, body, title)
      await at(gone).start()
      await finds(gone, body, title)
    }
  })

  test('a run that one process takes in is computed by the worker, and any process hands out its file', async () => {
    const { key } = await at(0).makeApplication({
      entitlements: [{ datasets: ['news'] }],
      policy: { analysis_enabled: true },
    })
    const created = await at(0).consumer(key, 'POST', '/v1/analysis/runs', {
      analysis_type: 'knn_graph',
      embedding_profile_id: fakeProfile,
      input_scope: { dataset_ids: ['news'] },
      parameters: { k: 2 },
    })
    assert.equal(created.status, 202, created.text)
    const run = `/v1/analysis/runs/${created.body.run_id}`
    await until('it is computed', async () => (await at(1).consumer(key, 'GET', run)).body.status === 'succeeded')
    const { artifacts } = (await at(2).consumer(key, 'GET', `${run}/artifacts`)).body
    const file = await at(1).consumer(key, 'GET', `${run}/artifacts/${artifacts[0].artifact_id}/file`)
    assert.equal(file.status, 200)
    assert.equal(Number(file.headers.get('content-length')), artifacts[0].bytes)
  })

  test('subscriptions: of several workers one starts each run, and when one is killed the other goes on', async () => {
    const { key } = await at(0).makeApplication({
      entitlements: [{ datasets: ['news'] }],
      policy: { analysis_enabled: true, analysis: { types: ['feature_rollup'], scheduling: true } },
    })
    const second = await startBeside(at(0), { ...env, TIDEMARK_ROLES: 'worker' })
    const subscribe = async (i: number): Promise<string> => {
      const made = await at(i).consumer(key, 'POST', '/v1/analysis/subscriptions', {
        name: `Every hour ${i}`,
        analysis_type: 'feature_rollup',
        input_scope: { dataset_ids: ['news'] },
        parameters: { by: ['platform'] },
        execution_mode: 'scheduled',
        interval_seconds: 3600,
      })
      assert.equal(made.status, 201, made.text)
      return made.body.subscription_id
    }
    const runs = async (i: number, id: string) =>
      (await at(i).consumer(key, 'GET', `/v1/analysis/subscriptions/${id}/runs`)).body.runs
    const ids = await Promise.all([0, 1, 2, 3].map(subscribe))
    await until('a run has ended', async () => (await Promise.all(ids.map((id) => runs(0, id)))).flat().length > 0)
    await second.kill9()
    for (const [i, id] of ids.entries()) {
      await until(`the run of ${i} has ended`, async () => (await runs(i, id)).length > 0)
      assert.deepEqual(
        (await runs(i, id)).map((run: { status: string }) => run.status),
        ['succeeded'],
      )
    }
    const all = (await at(1).consumer(key, 'GET', '/v1/analysis/runs')).body.runs
    assert.deepEqual(
      all.map((run: { subscription_id: string }) => run.subscription_id).sort(),
      ids.toSorted(),
      'one of each',
    )
  })

  test('a worker says how it is and answers nothing else', async () => {
    assert.equal((await worker.call('GET', '/healthz')).status, 200)
    assert.equal((await worker.call('GET', '/readyz')).status, 200)
    assert.equal((await worker.admin('GET', '/admin/v1/datasets')).status, 404)
    assert.equal((await worker.call('POST', '/v1/search', { body: {} })).status, 404)
  })
})

/** Runs `count` tasks, `atOnce` at a time. Returns their results in order. */
async function inParallel<T>(count: number, atOnce: number, work: (i: number) => Promise<T>): Promise<T[]> {
  const results: T[] = []
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < count) {
      const i = next++
      results[i] = await work(i)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
  return results
}
