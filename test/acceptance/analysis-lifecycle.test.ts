import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { until } from '../support/until.ts'
import { type AnalysisWorld, type RunBody, startAnalysisWorld } from './analysis-world.ts'
import { documentOf } from './content.ts'
import { expectError } from './expect-error.ts'
import type { Answer } from './harness.ts'
import { runDoesNotBegin, runsBegin } from './store-surgery.ts'

/** Long texts make many chunks, and many neighbours for each make a run that can be observed while it runs. */
const chunksWanted = 1000
const long = { parameters: { k: 100 } }

suite('the life of a run', () => {
  let world: AnalysisWorld
  const short = { input_scope: { dataset_ids: ['forum'] } }

  before(async () => {
    world = await startAnalysisWorld({ analysis: { max_input_chunks: 100_000, scheduling: true } })
    await world.put(documentOf('f-1', { dataset_id: 'forum' }), documentOf('f-2', { dataset_id: 'forum' }))
    await world.graph(short)
    const sentence = (i: number) => `Sentence ${i * 7919} tells of tide ${i % 97} and of harbour ${i % 89}. `
    for (let part = 0; (await world.search.indexing()).indexed_chunks < chunksWanted; part++) {
      const body = Array.from({ length: 4000 }, (_, i) => sentence(part * 4000 + i)).join('')
      await world.search.put(documentOf(`long-${part}`, { body }))
      await world.search.indexed()
    }
  })

  const files = () => readdirSync(join(world.server.dataDir, 'artifacts')).filter((name) => name !== 'removals')
  const cancel = (runId: string) => world.server.consumer(world.key, 'POST', `/v1/analysis/runs/${runId}/cancel`)
  /** The server has no other child processes, because its embedding model runs elsewhere. */
  const processesOfRuns = () =>
    readdirSync(`/proc/${world.server.pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${world.server.pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    )

  /**
   * Creates a run whose process is stopped in the middle of its work, with a partial file, for as long as a test needs.
   */
  async function held(key: string = world.key): Promise<string> {
    for (;;) {
      const { run_id: runId } = await world.create(long, key)
      const status = async () => (await world.read(runId, key)).status
      // One run is worked on at a time, so earlier ones have ended when it runs.
      await until('it runs', async () => ['running', 'succeeded'].includes(await status()))
      const isBegun = () => files().some((name) => name.endsWith('.partial'))
      await until('its file is begun', async () => isBegun() || (await status()) === 'succeeded')
      for (const pid of processesOfRuns()) process.kill(pid, 'SIGSTOP')
      if ((await status()) === 'running') return runId
    }
  }

  test('cancelled while it runs: at once, without an artifact', async () => {
    const before = files()
    const runId = await held()
    assert.notDeepEqual(files(), before)
    const answer = await cancel(runId)
    assert.deepEqual([answer.status, answer.body.status], [200, 'cancelled'])
    assert.notEqual(answer.body.completed_at, null)
    await until('nothing is left of it', async () => files().length === before.length)
    assert.deepEqual(files(), before)
    assert.deepEqual(await world.artifacts(runId), [])
    const again = await cancel(runId)
    assert.deepEqual([again.status, again.body], [200, answer.body])
    // The worker is free for the next run.
    assert.equal((await world.ended((await world.create(short)).run_id)).status, 'succeeded')
    assert.equal((await world.read(runId)).status, 'cancelled')
  })

  test('cancelled while it waits', async () => {
    const first = await held()
    const second = await world.create(short)
    const { runs } = await world.server.mustAdmin('GET', '/admin/v1/analysis/runs?unfinished=true&limit=2')
    assert.deepEqual(
      runs.map((run: RunBody) => [run.run_id, run.status]),
      [
        [second.run_id, 'queued'],
        [first, 'running'],
      ],
    )
    assert.equal((await cancel(second.run_id)).body.status, 'cancelled')
    assert.equal((await world.read(second.run_id)).started_at, null)
    await cancel(first)
  })

  test('an application that is deleted by force takes its runs along, those that run and those that wait', async () => {
    const before = files().filter((name) => !name.endsWith('.partial'))
    const { applicationId, key } = await world.application([{ datasets: ['news', 'forum'] }], {
      analysis: { max_input_chunks: 100_000 },
    })
    const first = await held(key)
    await world.create(short, key)
    const path = `/admin/v1/applications/${applicationId}`
    const refused = await world.server.admin('DELETE', path)
    await expectError(world.server, refused, 409, 'in_use')
    assert.deepEqual(refused.body.details, [
      { path: 'keys', message: 'valid keys: 1' },
      { path: 'runs', message: 'unfinished runs: 2' },
    ])
    assert.equal((await world.read(first, key)).status, 'running')
    assert.equal((await world.server.admin('DELETE', `${path}?force=true`)).status, 204)
    // The worker is free for the next run, which would otherwise have to wait.
    assert.equal((await world.ended((await world.create(short)).run_id)).status, 'succeeded')
    await until('nothing is left of them', async () => files().length === before.length + 1)
  })

  test('a process of a run that dies is counted, and another takes the run up', async () => {
    const counted = async (name: string) => {
      const metrics = await world.server.admin('GET', '/metrics')
      return Number(
        new RegExp(`^tidemark_pool_${name}\\{pool="algorithm"\\} (\\d+)$`, 'm').exec(metrics.text)?.[1] ?? 0,
      )
    }
    const deaths = await counted('replaced_total')
    const runId = await held()
    assert.equal(await counted('members'), 1)
    for (const pid of processesOfRuns()) process.kill(pid, 'SIGKILL')
    assert.equal((await world.ended(runId)).status, 'succeeded')
    assert.equal(await counted('replaced_total'), deaths + 1)
    assert.equal(await counted('members'), 0)
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
    const first = await held(key)
    const second = await world.create(short, key)
    const answer = await world.post(world.request(short), key)
    await expectError(world.server, answer, 429, 'rate_limit_exceeded')
    await world.server.consumer(key, 'POST', `/v1/analysis/runs/${first}/cancel`)
    await world.ended(second.run_id, key)
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

    const first = await held()
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

    const assertFailed = async (run: { run_id: string }, key: string): Promise<void> => {
      const ended = await world.ended(run.run_id, key)
      assert.deepEqual([ended.status, ended.error!.code], ['failed', 'entitlement_changed'])
    }
    await assertFailed(lost, losing.key)
    assert.equal((await world.ended(partly.run_id, narrowed.key)).status, 'succeeded')
    assert.equal((await world.edges(partly.run_id, narrowed.key)).length, 2)
    await world.ended(wide.run_id, widened.key)
    // The run started before that one. While analysis is off, its application cannot read it.
    await world.setPolicy(disabled.applicationId, { analysis_enabled: true })
    await assertFailed(off, disabled.key)
    assert.equal((await world.edges(wide.run_id, widened.key)).length, 2)
  })

  test('an orderly end gives the run up, and the next start takes it at once', async () => {
    const runId = await held()
    await world.server.restart()
    assert.equal((await world.ended(runId)).status, 'succeeded')
  })

  /** One kill meets runs in every state. The work of a dead process is taken over when its lease has expired. */
  suite('kill -9', () => {
    let cancelled: string
    let subscription: string
    let validated: string
    let running: string
    let waiting: string

    const subscriptions = async (method: string, path: string, body?: unknown): Promise<Answer['body']> =>
      (await world.server.consumer(world.key, method, `/v1/analysis/subscriptions${path}`, body)).body

    before(async () => {
      cancelled = await held()
      subscription = (
        await subscriptions('POST', '', world.request({ ...short, name: 'S', execution_mode: 'on_change' }))
      ).subscription_id
      await until('its run waits', async () => {
        const { body } = await world.server.consumer(world.key, 'GET', '/v1/analysis/runs?status=queued')
        validated = body.runs.find((run: RunBody) => run.subscription_id === subscription)?.run_id
        return validated !== undefined
      })
      await runDoesNotBegin(world.server, validated)
      await cancel(cancelled)
      await until('it is validated', async () => (await world.read(validated)).status === 'validating')
      running = await held()
      waiting = (await world.create(short)).run_id
      const runs = [cancelled, validated, running, waiting]
      assert.deepEqual(await Promise.all(runs.map(async (runId) => (await world.read(runId)).status)), [
        'cancelled',
        'validating',
        'running',
        'queued',
      ])
      const orphans = processesOfRuns()
      world.server.signal('SIGKILL')
      for (const orphan of orphans) process.kill(orphan, 'SIGCONT')
      await world.server.ended()
      await runsBegin(world.server)
      await world.server.start()
    })

    test('while one runs and one waits: both end after the next start', async () => {
      assert.equal((await world.ended(running)).status, 'succeeded')
      assert.equal((await world.ended(waiting)).status, 'succeeded')
      const [artifact] = await world.artifacts(running)
      const file = await world.download(running, artifact!.artifact_id)
      assert.equal((await file.arrayBuffer()).byteLength, artifact!.bytes)
    })

    test('while one of a subscription is validated: it ends after the next start, is read once and moves the checkpoint', async () => {
      const ended = await world.ended(validated)
      assert.equal(ended.status, 'succeeded')
      assert.equal((await world.edges(validated)).length, 2)
      const { runs, next_cursor } = await subscriptions('GET', `/${subscription}/runs`)
      assert.deepEqual(runs, [ended])
      assert.deepEqual((await subscriptions('GET', `/${subscription}/runs?after=${next_cursor}`)).runs, [])
      const { checkpoint } = await subscriptions('GET', `/${subscription}/checkpoint`)
      assert.deepEqual(checkpoint, {
        sequence: ended.feed_sequence,
        run_id: validated,
        completed_at: ended.completed_at,
      })
    })

    test('after a cancel: it stays cancelled', async () => {
      assert.equal((await world.ended((await world.create(short)).run_id)).status, 'succeeded')
      assert.equal((await world.read(cancelled)).status, 'cancelled')
    })
  })
})
