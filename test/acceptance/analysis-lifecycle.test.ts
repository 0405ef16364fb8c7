import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { until } from '../support/until.ts'
import { type AnalysisWorld, startAnalysisWorld } from './analysis-world.ts'
import { documentOf, sendLines } from './content.ts'
import { expectError } from './expect-error.ts'

/** Long texts make many chunks, and many neighbours of many chunks make a run that takes seconds. */
const chunksWanted = 4000
const long = { parameters: { k: 100 } }

suite('the life of a run', () => {
  let world: AnalysisWorld
  const short = { input_scope: { dataset_ids: ['forum'] } }

  before(async () => {
    world = await startAnalysisWorld({ analysis: { max_input_chunks: 100_000 } })
    await world.put(documentOf('f-1', { dataset_id: 'forum' }), documentOf('f-2', { dataset_id: 'forum' }))
    await world.graph(short)
    const sentence = (i: number) => `Sentence ${i * 7919} tells of tide ${i % 97} and of harbour ${i % 89}. `
    for (let part = 0; (await world.search.indexing()).indexed_chunks < chunksWanted; part++) {
      const body = Array.from({ length: 4000 }, (_, i) => sentence(part * 4000 + i)).join('')
      await world.search.put(documentOf(`long-${part}`, { body }))
      await world.search.indexed()
    }
  })

  const running = (runId: string) =>
    until('the run is running', async () => (await world.read(runId)).status === 'running')
  const files = () => readdirSync(join(world.server.dataDir, 'artifacts'))
  const cancel = (runId: string) => world.server.consumer(world.key, 'POST', `/v1/analysis/runs/${runId}/cancel`)

  test('cancelled while it runs: at once, without an artifact', async () => {
    const before = files()
    const { run_id: runId } = await world.create(long)
    await running(runId)
    const answer = await cancel(runId)
    assert.deepEqual([answer.status, answer.body.status], [200, 'cancelled'])
    assert.notEqual(answer.body.completed_at, null)
    await until('nothing is left of it', async () => files().length === before.length)
    assert.deepEqual(files(), before)
    assert.deepEqual(await world.artifacts(runId), [])
    const again = await cancel(runId)
    assert.deepEqual([again.status, again.body], [200, answer.body])
    // The worker is free for the next one.
    assert.equal((await world.ended((await world.create(short)).run_id)).status, 'succeeded')
    assert.equal((await world.read(runId)).status, 'cancelled')
  })

  test('cancelled while it waits', async () => {
    const first = await world.create(long)
    await running(first.run_id)
    const second = await world.create(short)
    assert.equal((await cancel(second.run_id)).body.status, 'cancelled')
    assert.equal((await world.read(second.run_id)).started_at, null)
    await cancel(first.run_id)
  })

  test('an application that is deleted by force takes its runs along, those that run and those that wait', async () => {
    const before = files()
    const { applicationId, key } = await world.application([{ datasets: ['news', 'forum'] }], {
      analysis: { max_input_chunks: 100_000 },
    })
    const { run_id: first } = await world.create(long, key)
    await until('the run is running', async () => (await world.read(first, key)).status === 'running')
    await world.create(short, key)
    const path = `/admin/v1/applications/${applicationId}`
    const refused = await world.server.admin('DELETE', path)
    await expectError(world.server, refused, 409, 'in_use')
    assert.deepEqual(refused.body.details, [
      { path: 'keys', message: 'keys that work: 1' },
      { path: 'runs', message: 'unfinished runs: 2' },
    ])
    assert.equal((await world.read(first, key)).status, 'running')
    assert.equal((await world.server.admin('DELETE', `${path}?force=true`)).status, 204)
    // The worker is free for the next one, which would have had to wait.
    assert.equal((await world.ended((await world.create(short)).run_id)).status, 'succeeded')
    await until('nothing is left of them', async () => files().length === before.length + 1)
  })

  test('progress is shown while it runs, and other requests are answered', async () => {
    const { run_id: runId } = await world.create(long)
    const seen = new Set<number>()
    await until('the run ends', async () => {
      const run = await world.read(runId)
      seen.add(run.progress)
      return run.status === 'succeeded'
    })
    const values = [...seen]
    assert.deepEqual(
      values,
      values.toSorted((a, b) => a - b),
    )
    assert.ok(values.every((value) => value >= 0 && value <= 1))
    assert.equal(values.at(-1), 1)
  })

  test('unfinished runs at once are limited', async () => {
    const { key } = await world.application([{ datasets: ['news', 'forum'] }], {
      analysis: { max_concurrent_runs: 2, max_input_chunks: 100_000 },
    })
    const held = [await world.create(long, key), await world.create(short, key)]
    const answer = await world.post(world.request(short), key)
    await expectError(world.server, answer, 429, 'rate_limit_exceeded')
    await world.server.consumer(key, 'POST', `/v1/analysis/runs/${held[0]!.run_id}/cancel`)
    await world.ended(held[1]!.run_id, key)
    assert.equal((await world.post(world.request(short), key)).status, 202)
  })

  test('entitlements are applied again when the run is executed', async () => {
    const both = { input_scope: { dataset_ids: ['news', 'forum'] }, parameters: { k: 1 } }
    const everything = [{ datasets: ['news', 'forum'] }]
    const policy = { analysis: { max_input_chunks: 100_000 } }
    const losing = await world.application(everything, policy)
    const narrowed = await world.application(everything, policy)
    const disabled = await world.application(everything, policy)
    const widened = await world.application([{ datasets: ['forum'] }], policy)

    const { run_id: first } = await world.create(long)
    await running(first)
    const lost = await world.create(both, losing.key)
    const partly = await world.create(both, narrowed.key)
    const off = await world.create(both, disabled.key)
    const wide = await world.create({ ...short, parameters: { k: 1 } }, widened.key)
    await world.setEntitlements(losing.applicationId, [{ datasets: ['elsewhere'] }])
    await world.setEntitlements(narrowed.applicationId, [{ datasets: ['forum'] }])
    await world.setPolicy(disabled.applicationId, { analysis_enabled: false })
    await world.setEntitlements(widened.applicationId, everything)
    assert.equal((await world.read(first)).status, 'running', 'the runs behind it must still be waiting')
    await cancel(first)

    for (const [run, key] of [
      [lost, losing.key],
      [off, disabled.key],
    ] as const) {
      const ended = await world.ended(run.run_id, key)
      assert.deepEqual([ended.status, ended.error!.code], ['failed', 'entitlement_changed'])
    }
    assert.equal((await world.ended(partly.run_id, narrowed.key)).status, 'succeeded')
    assert.equal((await world.edges(partly.run_id, narrowed.key)).length, 2)
    await world.ended(wide.run_id, widened.key)
    assert.equal((await world.edges(wide.run_id, widened.key)).length, 2)
  })

  test('kill -9 while one runs and one waits: both end after the next start', async () => {
    const { run_id: first } = await world.create(long)
    await running(first)
    const { run_id: second } = await world.create(short)
    await world.server.kill9()
    await world.server.start()
    assert.equal((await world.ended(first)).status, 'succeeded')
    assert.equal((await world.ended(second)).status, 'succeeded')
    const [artifact] = await world.artifacts(first)
    const file = await world.download(first, artifact!.artifact_id)
    assert.equal((await file.arrayBuffer()).byteLength, artifact!.bytes)
  })

  test('kill -9 while one is validated: it ends after the next start', async () => {
    // Titles alone have no vectors: much to look through, and nothing to wait for before.
    await world.server.makeDataset('archive')
    const titles = Array.from({ length: 10_000 }, (_, i) => ({
      ...documentOf(`t-${i}`, { dataset_id: 'archive' }),
      body: undefined,
    }))
    const lines = titles.map((one) => `${JSON.stringify(one)}\n`).join('')
    assert.equal((await sendLines(world.server, world.search.collector, lines)).status, 200)
    const { key } = await world.application([{ datasets: ['archive', 'forum'] }])
    const wide = { input_scope: { dataset_ids: ['archive', 'forum'] }, parameters: { k: 1 } }
    const status = async (runId: string) => (await world.read(runId, key)).status
    /** The kill may come a moment too late; what the next start finds tells. */
    const killedInTime = async (attempts: number): Promise<string> => {
      const { run_id: runId } = await world.create(wide, key)
      while ((await status(runId)) === 'queued') {}
      await world.server.kill9()
      await world.server.start()
      if ((await status(runId)) === 'validating') return runId
      assert.ok(attempts > 1, 'never killed in time')
      return killedInTime(attempts - 1)
    }
    const runId = await killedInTime(10)
    assert.equal((await world.ended(runId, key)).status, 'succeeded')
    assert.equal((await world.edges(runId, key)).length, 2)
  })

  test('kill -9 after a cancel: it stays cancelled', async () => {
    const { run_id: runId } = await world.create(long)
    await running(runId)
    await cancel(runId)
    await world.server.kill9()
    await world.server.start()
    assert.equal((await world.ended((await world.create(short)).run_id)).status, 'succeeded')
    assert.equal((await world.read(runId)).status, 'cancelled')
  })

  test('an orderly end gives the run up, and the next start takes it at once', async () => {
    const { run_id: runId } = await world.create(long)
    await running(runId)
    await world.server.restart()
    assert.equal((await world.ended(runId)).status, 'succeeded')
  })
})
