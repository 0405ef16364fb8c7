import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { AnalysisStore, Artifact, NewRun, RunInput } from '../../src/analysis/analysis-store.ts'
import { nextStatus, type RunEvent, type RunStatus } from '../../src/analysis/run-states.ts'
import { newId } from '../../src/platform/ids.ts'

/**
 * The contract of the store of runs, checked against a model. Two workers and a caller act in any order and at any
 * time. A run only makes the transitions of the state table, is held by one worker, and has its artifacts exactly when
 * it has succeeded.
 */
interface ModelRun {
  readonly runId: string
  readonly expiresAt: number
  status: RunStatus
  input: RunInput | null
  warnings: readonly string[]
  worker: string | null
  leaseUntil: number
  attempts: number
  artifacts: readonly Artifact[]
}

interface Model {
  now: number
  readonly runs: ModelRun[]
}

type Command = fc.AsyncCommand<Model, AnalysisStore>

const application = 'app_one'
const leaseMs = 100

const crowd = newId('app')

const newRun = (runId: string, now: number, lifeMs: number): NewRun => ({
  runId,
  applicationId: application,
  analysisType: 'knn_graph',
  embeddingProfileId: 'profile',
  inputScope: { dataset_ids: ['news'] },
  parameters: { k: 3, min_similarity: null },
  inputCutoffAt: now,
  retentionDays: 1,
  scope: { entries: [] },
  createdAt: now,
  expiresAt: now + lifeMs,
})

const pick = (model: Model, which: number): ModelRun => model.runs[which % model.runs.length]!

/** The next state after an event that only the holder can cause; null if this worker does not hold the run. */
function asHolder(run: ModelRun, worker: string, event: RunEvent): RunStatus | null {
  return run.worker === worker ? nextStatus(run.status, event) : null
}

const command = (
  name: string,
  check: (model: Model) => boolean,
  run: (model: Model, store: AnalysisStore) => Promise<void>,
): Command => ({
  check,
  toString: () => name,
  async run(model, store) {
    await run(model, store)
    for (const one of model.runs) {
      const kept = await store.run(application, one.runId)
      assert.equal(kept?.status, one.status)
      assert.deepEqual([kept.input, kept.warnings], [one.input, one.warnings])
      const artifacts = await store.artifacts(one.runId)
      assert.deepEqual(artifacts, one.artifacts)
      assert.equal(artifacts.length > 0, one.status === 'succeeded')
    }
  },
})

const any = (model: Model): boolean => model.runs.length > 0

const add = (lifeMs: number): Command =>
  command(
    `add, lives ${lifeMs}`,
    () => true,
    async (model, store) => {
      const runId = newId('run', model.now)
      const unfinished = model.runs.filter(
        ({ status, expiresAt }) => nextStatus(status, 'cancel') !== null && expiresAt > model.now,
      )
      const added = await store.addRun(newRun(runId, model.now, lifeMs), 3)
      assert.equal(added, unfinished.length < 3)
      if (!added) return
      const expiresAt = model.now + lifeMs
      model.runs.push({
        runId,
        expiresAt,
        status: 'queued',
        input: null,
        warnings: [],
        worker: null,
        leaseUntil: 0,
        attempts: 0,
        artifacts: [],
      })
    },
  )

const take = (worker: string): Command =>
  command(
    `${worker} takes`,
    () => true,
    async (model, store) => {
      const free = model.runs
        .filter(({ status, leaseUntil }) => status === 'queued' || leaseUntil <= model.now)
        .filter(({ status, expiresAt }) => nextStatus(status, 'take') !== null && expiresAt > model.now)
        .sort((a, b) => Number(a.status === 'queued') - Number(b.status === 'queued') || (a.runId < b.runId ? -1 : 1))
        .map(({ runId }) => runId)
      const until = model.now + leaseMs
      const taken = await store.takeRun({ workerId: worker, now: model.now, until })
      assert.equal(taken?.runId, free[0])
      if (taken === null) return
      const run = model.runs.find(({ runId }) => runId === taken.runId)!
      const held = { worker, leaseUntil: until, attempts: run.attempts + 1 }
      // Selected again, with the documents that exist now.
      Object.assign(run, { status: 'validating', ...held, input: null, warnings: [] })
      assert.equal(taken.status, 'validating')
      assert.equal(taken.attempts, run.attempts)
      assert.ok(taken.startedAt !== null && taken.startedAt <= model.now)
    },
  )

const begin = (which: number, worker: string): Command =>
  command(`${worker} begins ${which}`, any, async (model, store) => {
    const run = pick(model, which)
    const next = asHolder(run, worker, 'begin')
    const input = { chunks: which + 1, documents: 1, withoutVector: which }
    const began = await store.beginRun(run.runId, worker, input, which % 2 === 0 ? [] : ['vectors_pending'])
    assert.equal(began, next !== null)
    if (next === null) return
    Object.assign(run, { status: next, input, warnings: which % 2 === 0 ? [] : ['vectors_pending'] })
  })

const renew = (which: number, worker: string): Command =>
  command(`${worker} renews ${which}`, any, async (model, store) => {
    const run = pick(model, which)
    const holds = asHolder(run, worker, 'fail') !== null
    const until = model.now + leaseMs
    assert.equal(await store.renew(run.runId, { workerId: worker, now: model.now, until }, 0.5), holds)
    if (holds) run.leaseUntil = until
  })

const end = (which: number, worker: string, event: 'succeed' | 'fail'): Command =>
  command(`${worker} ends ${which}: ${event}`, any, async (model, store) => {
    const run = pick(model, which)
    const next = model.now < run.expiresAt ? asHolder(run, worker, event) : null
    const at = model.now
    const artifact = (name: string): Artifact => ({
      artifactId: newId('art', at),
      name,
      rows: 1,
      bytes: 2,
      sha256: 'ab',
    })
    const artifacts = [artifact('edges'), ...(which % 2 === 0 ? [] : [artifact('clusters'), artifact('assignments')])]
    const ended = await store.endRun(
      run.runId,
      worker,
      event === 'succeed' ? { at, artifacts } : { at, error: { code: 'internal', message: 'no' } },
    )
    assert.equal(ended, next !== null)
    if (next === null) return
    Object.assign(run, { status: next, worker: null, artifacts: event === 'succeed' ? artifacts : [] })
  })

const release = (which: number, worker: string, counted: boolean): Command =>
  command(`${worker} releases ${which}`, any, async (model, store) => {
    const run = pick(model, which)
    const holds = asHolder(run, worker, 'fail') !== null
    await store.releaseRun(run.runId, worker, counted)
    if (holds) Object.assign(run, { worker: null, leaseUntil: 0, attempts: run.attempts - (counted ? 0 : 1) })
  })

const cancel = (which: number): Command =>
  command(`cancel ${which}`, any, async (model, store) => {
    const run = pick(model, which)
    const next = model.now < run.expiresAt ? nextStatus(run.status, 'cancel') : null
    assert.equal(await store.cancelRun('app_other', run.runId, model.now), null)
    const found = await store.cancelRun(application, run.runId, model.now)
    if (next !== null) Object.assign(run, { status: next, worker: null })
    assert.equal(found!.status, run.status)
  })

const expire = (): Command =>
  command('expire', any, async (model, store) => {
    const due = model.runs.filter(
      ({ expiresAt, status }) => expiresAt <= model.now && nextStatus(status, 'expire') !== null,
    )
    const { expired, artifactIds } = await store.expireRuns(model.now, 100)
    assert.equal(expired, due.length)
    assert.deepEqual(
      [...artifactIds].sort(),
      due.flatMap(({ artifacts }) => artifacts.map(({ artifactId }) => artifactId)).sort(),
    )
    for (const run of due) Object.assign(run, { status: 'expired', worker: null, artifacts: [] })
  })

const wait = (ms: number): Command =>
  command(
    `wait ${ms}`,
    () => true,
    async (model) => {
      model.now += ms
    },
  )

const worker = fc.constantFrom('w1', 'w2')
const which = fc.nat(3)
const commands = fc.commands(
  [
    fc.constantFrom(50, 1000, 10_000).map(add),
    worker.map(take),
    fc.tuple(which, worker).map((chosen) => begin(...chosen)),
    fc.tuple(which, worker).map((chosen) => renew(...chosen)),
    fc.tuple(which, worker, fc.constantFrom('succeed' as const, 'fail' as const)).map((chosen) => end(...chosen)),
    fc.tuple(which, worker, fc.boolean()).map((chosen) => release(...chosen)),
    which.map(cancel),
    fc.constant(expire()),
    fc.constantFrom(1, 40, leaseMs, 2000).map(wait),
  ],
  { size: '+1' },
)

export function analysisStoreContract(open: () => Promise<AnalysisStore>, numRuns: number): void {
  test('runs move as the table of states says, whatever is done by whom and when', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(commands, async (sequence) => {
        const store = await open()
        await fc.asyncModelRun(() => ({ model: { now: 1_800_000_000_000, runs: [] }, real: store }), sequence)
      }),
      { numRuns },
    )
  })

  test('an expired run is listed as such from the moment it is due, and removed long after', async () => {
    const store = await open()
    const now = 1_800_000_000_000
    const [short, long] = [newId('run', now), newId('run', now)]
    await store.addRun(newRun(short, now, 100), null)
    await store.addRun(newRun(long, now, 10_000), null)
    const list = async (status: RunStatus | null, at: number, goneBefore = 0) => {
      const query = { applicationId: application, status, before: null, limit: 10, now: at, goneBefore }
      return (await store.runs(query)).map(({ runId }) => runId)
    }
    assert.deepEqual(await list(null, now), [long, short])
    assert.deepEqual(await list('queued', now), [long, short])
    assert.deepEqual(await list('queued', now + 100), [long])
    assert.deepEqual(await list('expired', now + 100), [short])
    assert.deepEqual(await list(null, now + 500, now + 100), [long])
    assert.equal(await store.removeRuns(now + 100, 10), 0, 'only what is marked expired is removed')
    await store.expireRuns(now + 100, 10)
    assert.equal(await store.removeRuns(now + 99, 10), 0)
    assert.equal(await store.removeRuns(now + 100, 10), 1)
    assert.equal(await store.run(application, short), null)
  })

  test('applications take turns, however many runs of one wait', async () => {
    const store = await open()
    const now = Date.now()
    const ofCrowd = Array.from({ length: 4 }, (_, i) => newId('run', now + i))
    for (const runId of ofCrowd) await store.addRun({ ...newRun(runId, now, 10_000), applicationId: crowd }, null)
    const single = [newId('run', now + 10), newId('run', now + 11)]
    for (const runId of single) await store.addRun(newRun(runId, now, 10_000), null)
    assert.deepEqual(await store.unfinishedRuns(100), { queued: 6, validating: 0, running: 0 })
    assert.deepEqual(await store.unfinishedRuns(5), { queued: 5, validating: 0, running: 0 }, 'counted no further')
    const taken: string[] = []
    for (let i = 0; i < 6; i++) {
      taken.push((await store.takeRun({ workerId: 'w', now: now + 20 + i, until: now + 9000 }))!.runId)
    }
    assert.deepEqual(await store.unfinishedRuns(100), { queued: 0, validating: 6, running: 0 })
    assert.deepEqual(taken, [ofCrowd[0], single[0], ofCrowd[1], single[1], ofCrowd[2], ofCrowd[3]])
  })

  test('the queue has the runs of all applications, newest first; those that are over can be left out', async () => {
    const store = await open()
    const now = Date.now()
    const [done, taken, due, waiting] = [0, 1, 2, 3].map((i) => newId('run', now + i)) as [
      string,
      string,
      string,
      string,
    ]
    for (const runId of [done, taken, due]) await store.addRun(newRun(runId, now, runId === due ? 10 : 10_000), null)
    await store.addRun({ ...newRun(waiting, now, 10_000), applicationId: crowd }, null)
    await store.cancelRun(application, done, now)
    await store.takeRun({ workerId: 'w', now: now + 5, until: now + 9000 })
    const queue = async (unfinished: boolean, before: string | null = null, limit = 10) =>
      (await store.runQueue({ unfinished, before, limit, now: now + 10 }))
        .filter(({ runId }) => runId >= done && runId <= waiting)
        .map(({ runId, status, attempts, applicationId }) => [runId, status, attempts, applicationId])
    const newest = [waiting, 'queued', 0, crowd]
    const held = [taken, 'validating', 1, application]
    assert.deepEqual(await queue(true), [newest, held])
    const all = [newest, [due, 'queued', 0, application], held, [done, 'cancelled', 0, application]]
    assert.deepEqual(await queue(false), all)
    assert.deepEqual(await queue(false, null, 1), [newest])
    assert.deepEqual(await queue(false, waiting, 2), all.slice(1, 3))
  })

  test('which artifacts there are', async () => {
    const store = await open()
    assert.deepEqual(await store.knownArtifacts([]), [])
    assert.deepEqual(await store.knownArtifacts([newId('art')]), [])
  })
}
