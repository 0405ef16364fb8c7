import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Run } from '../../src/analysis/analysis-store.ts'
import type { DueRuns } from '../../src/analysis/due-runs.ts'
import type { Subscription } from '../../src/analysis/subscription-store.ts'
import { newId } from '../../src/platform/ids.ts'
import type { SubscriptionFixture } from './analysis-subscriptions.ts'

/**
 * The rules of subscriptions, written a second time with full knowledge of every event and every run. Two workers start
 * and execute runs. Either may be killed at any moment and loses what it knew.
 */
interface ModelRun {
  readonly runId: string
  readonly turn: number
  readonly feedSequence: number
  readonly startedAt: number
  readonly expiresAt: number
  /** Null while the run is unfinished. */
  endedAt: number | null
  succeeded: boolean
  isComplete: boolean
}

interface ModelSubscription {
  readonly id: string
  readonly mode: Subscription['executionMode']
  readonly dataset: string
  readonly createdAt: number
  paused: boolean
  readonly runs: ModelRun[]
  /** The runs that a reader has got, and where it continues. */
  readonly read: number[]
}

export interface SubscriptionModel {
  nowMs: number
  isScheduled: boolean
  readonly subscriptions: ModelSubscription[]
  readonly events: { readonly sequence: number; readonly dataset: string; readonly at: number }[]
  /** The run that each worker holds. */
  readonly held: (string | null)[]
  documents: number
}

export interface SubscriptionSystem {
  readonly fixture: SubscriptionFixture
  readonly applicationId: string
  readonly workers: DueRuns[]
  newWorker(): DueRuns
}

type Command = fc.AsyncCommand<SubscriptionModel, SubscriptionSystem>

const intervalSeconds = 600
const dayMs = 86_400_000

export const schedulingPolicy = (scheduling: boolean) => ({
  analysis_enabled: true,
  analysis: { types: ['feature_rollup' as const], scheduling },
})

/** Time ends an unfinished run. */
function pass(model: SubscriptionModel): void {
  for (const run of model.subscriptions.flatMap(({ runs }) => runs)) {
    if (run.endedAt === null && run.expiresAt <= model.nowMs) run.endedAt = run.expiresAt
  }
}

/** Whether a run must be started now. Otherwise none may be started. */
function isDue(one: ModelSubscription, { nowMs, isScheduled, events }: SubscriptionModel): boolean {
  if (one.paused || !isScheduled) return false
  const last = one.runs.at(-1)
  if (last === undefined) return true
  if (last.endedAt === null) return false
  const marks = (at: number): number => Math.floor((at - one.createdAt) / (intervalSeconds * 1000))
  if (one.mode !== 'on_change' && marks(nowMs) > marks(last.startedAt)) return true
  if (one.mode === 'scheduled') return false
  if (!last.isComplete) {
    const tries = one.runs.length - 1 - one.runs.findLastIndex((run) => run.isComplete)
    return nowMs >= last.endedAt + Math.min(3_600_000, 60_000 * 2 ** (tries - 1))
  }
  const times = events
    .filter(({ sequence, dataset }) => sequence > last.feedSequence && dataset === one.dataset)
    .map(({ at }) => at)
  return times.length > 0 && nowMs >= Math.min(Math.max(...times) + 30_000, Math.min(...times) + 300_000)
}

const holds = (model: SubscriptionModel, worker: number): ModelRun | null => {
  const run = model.subscriptions.flatMap(({ runs }) => runs).find(({ runId }) => runId === model.held[worker])
  return run?.endedAt === null ? run : null
}

/** The store equals the model, and the invariants of any history hold. */
async function compare(model: SubscriptionModel, { fixture, applicationId }: SubscriptionSystem): Promise<void> {
  const page = { before: null, limit: 1000, now: model.nowMs, goneBefore: 0 }
  const kept = Map.groupBy(
    await fixture.analysis.runs({ applicationId, status: null, ...page }),
    (run) => run.subscription!.subscriptionId,
  )
  for (const one of model.subscriptions) {
    const runs = (kept.get(one.id) ?? []).toSorted((a, b) => a.subscription!.turn - b.subscription!.turn)
    assert.deepEqual(
      runs.map(({ runId }) => runId),
      one.runs.map(({ runId }) => runId),
    )
    let before = 0
    runs.forEach((run, i) => {
      const { turn, feedSequence } = run.subscription!
      assert.equal(turn, i + 1)
      assert.ok(feedSequence >= before, 'a run covers no less than the one before')
      before = feedSequence
      const covered = model.events.filter(({ sequence }) => sequence <= feedSequence)
      assert.ok(
        covered.every(({ at }) => at <= run.inputCutoffAt),
        'what it covers came before its cut-off',
      )
    })
    assert.ok(one.runs.filter(({ endedAt }) => endedAt === null).length <= 1, 'one run at a time')
    const succeeded = one.runs.findLast((run) => run.succeeded)
    const stored = await fixture.analysis.subscription(applicationId, one.id)
    assert.deepEqual(
      stored!.checkpoint,
      succeeded === undefined
        ? null
        : { sequence: succeeded.feedSequence, runId: succeeded.runId, completedAt: succeeded.endedAt },
    )
  }
}

const command = (
  name: string,
  run: (model: SubscriptionModel, system: SubscriptionSystem) => Promise<void>,
  check: (model: SubscriptionModel) => boolean = () => true,
): Command => ({
  check,
  toString: () => name,
  async run(model, system) {
    pass(model)
    await run(model, system)
    await compare(model, system)
  },
})

const anySubscription = ({ subscriptions }: SubscriptionModel): boolean => subscriptions.length > 0
const pick = ({ subscriptions }: SubscriptionModel, which: number): ModelSubscription =>
  subscriptions[which % subscriptions.length]!

const subscribe = (mode: Subscription['executionMode'], dataset: string): Command =>
  command(
    `subscribe to ${dataset}, ${mode}`,
    async (model, { fixture, applicationId }) => {
      const id = newId('sub', model.nowMs)
      await fixture.analysis.addSubscription({
        subscriptionId: id,
        applicationId,
        name: mode,
        analysisType: 'feature_rollup',
        inputScope: { dataset_ids: [dataset] },
        executionMode: mode,
        embeddingProfileId: null,
        parameters: { by: ['platform'] },
        intervalSeconds,
        artifactRetentionDays: 1,
        paused: false,
        createdAt: model.nowMs,
        updatedAt: model.nowMs,
        checkpoint: null,
      })
      const createdAt = model.nowMs
      model.subscriptions.push({ id, mode, dataset, createdAt, paused: false, runs: [], read: [] })
    },
    ({ subscriptions }) => subscriptions.length < 4,
  )

const ingest = (dataset: string, behindMs: number): Command =>
  command(`a document comes into ${dataset}, by a clock that is ${behindMs} ms behind`, async (model, { fixture }) => {
    const at = model.nowMs - behindMs
    const externalId = `${dataset} ${model.nowMs} ${model.documents++}`
    await fixture.content.ingest([{ datasetId: dataset, platform: 'rss', externalId, title: 'T' }], at)
    model.events.push({ sequence: (await fixture.changes.state()).newest, dataset, at })
  })

const wait = (ms: number): Command =>
  command(`${ms} ms go by`, async (model) => {
    model.nowMs += ms
    pass(model)
  })

/** Starts due runs, each once, whichever worker looks and however many at once. */
const look = (workers: readonly number[]): Command =>
  command(`workers ${workers.join(' and ')} look`, async (model, { fixture, applicationId, workers: all }) => {
    const due = model.subscriptions.filter((one) => isDue(one, model))
    await Promise.all(workers.map((worker) => all[worker]!.start()))
    for (const one of due) {
      const found = await fixture.analysis.runs({
        applicationId,
        status: 'queued',
        before: null,
        limit: 100,
        now: model.nowMs,
        goneBefore: 0,
      })
      const run = found.find(({ subscription }) => subscription!.subscriptionId === one.id)
      assert.ok(run !== undefined, `a run of ${one.mode} is due`)
      one.runs.push({
        runId: run.runId,
        turn: run.subscription!.turn,
        feedSequence: run.subscription!.feedSequence,
        startedAt: run.createdAt,
        expiresAt: run.expiresAt,
        endedAt: null,
        succeeded: false,
        isComplete: false,
      })
    }
  })

const take = (worker: number): Command =>
  command(`worker ${worker} takes a run`, async (model, { fixture }) => {
    const now = model.nowMs
    const taken = await fixture.analysis.takeRun({ workerId: `w${worker}`, now, until: now + 10_000 })
    if (taken === null) return
    model.held[worker] = taken.runId
    // The previous holder has lost the run.
    for (const other of [0, 1]) if (other !== worker && model.held[other] === taken.runId) model.held[other] = null
  })

const end = (worker: number, how: 'succeeds' | 'lacks vectors' | 'fails'): Command =>
  command(`the run of worker ${worker} ${how}`, async (model, { fixture }) => {
    const run = holds(model, worker)
    if (run === null) return
    const { analysis } = fixture
    const workerId = `w${worker}`
    const at = model.nowMs
    model.held[worker] = null
    if (how === 'fails') {
      assert.ok(await analysis.endRun(run.runId, workerId, { at, error: { code: 'internal', message: 'no' } }))
    } else {
      const warnings = [how === 'succeeds' ? ('history_lost' as const) : ('vectors_pending' as const)]
      await analysis.beginRun(run.runId, workerId, { chunks: 0, documents: 1, withoutVector: 0 }, warnings)
      const artifact = { artifactId: newId('art', at), name: 'rollup', rows: 1, bytes: 2, sha256: 'ab' }
      assert.ok(await analysis.endRun(run.runId, workerId, { at, artifacts: [artifact] }))
    }
    Object.assign(run, { endedAt: at, succeeded: how !== 'fails', isComplete: how === 'succeeds' })
  })

/** The worker restarts and knows nothing. Another worker gets its run when the lease has expired. */
const crash = (worker: number): Command =>
  command(`worker ${worker} is killed`, async (model, system) => {
    model.held[worker] = null
    system.workers[worker] = system.newWorker()
  })

const cancel = (which: number): Command =>
  command(
    `the latest run of ${which} is cancelled`,
    async (model, { fixture, applicationId }) => {
      const run = pick(model, which).runs.at(-1)
      if (run === undefined || run.endedAt !== null) return
      await fixture.analysis.cancelRun(applicationId, run.runId, model.nowMs)
      run.endedAt = model.nowMs
    },
    anySubscription,
  )

const setPaused = (which: number, paused: boolean): Command =>
  command(
    `${paused ? 'pause' : 'resume'} ${which}`,
    async (model, { fixture, applicationId }) => {
      const one = pick(model, which)
      await fixture.analysis.setPaused(applicationId, one.id, paused, model.nowMs)
      one.paused = paused
    },
    anySubscription,
  )

const setScheduling = (isScheduled: boolean): Command =>
  command(`scheduling ${isScheduled}`, async (model, { fixture, applicationId }) => {
    const policy = schedulingPolicy(isScheduled)
    await fixture.operator.commit([{ kind: 'application.update', applicationId, policy }], {
      actor: 'test',
      at: model.nowMs,
    })
    model.isScheduled = isScheduled
  })

const expire = (): Command =>
  command('retention comes by', async (model, { fixture }) => {
    await fixture.analysis.expireRuns(model.nowMs, 100)
  })

/** A reader gets the runs that have ended since its cursor, and none twice. */
const read = (which: number, limit: number): Command =>
  command(
    `${limit} runs of ${which} are read`,
    async (model, { fixture }) => {
      const one = pick(model, which)
      const ended = one.runs.filter(({ endedAt }) => endedAt !== null).map(({ turn }) => turn)
      const page = await fixture.analysis.endedRuns({
        subscriptionId: one.id,
        afterTurn: one.read.at(-1) ?? 0,
        limit,
        now: model.nowMs,
        goneBefore: 0,
      })
      const expected = ended.slice(one.read.length, one.read.length + limit)
      assert.deepEqual(page.map(turnOf), expected)
      one.read.push(...page.map(turnOf))
      assert.deepEqual(
        one.read,
        ended.slice(0, one.read.length),
        'every run that has ended, once, in the order of its turn',
      )
    },
    anySubscription,
  )

/** The usual order of steps, so that histories are long enough for the effects of several runs. */
const round = (worker: number, how: Parameters<typeof end>[1], ms: number): Command => {
  const steps = [wait(ms), look([worker]), take(worker), end(worker, how)]
  return {
    check: anySubscription,
    toString: () => steps.join(', '),
    async run(model, system) {
      for (const step of steps) await step.run(model, system)
    },
  }
}

const turnOf = ({ subscription }: Run): number => subscription!.turn

/** If everything goes well from here on, every change is covered by a run. */
export async function settle(model: SubscriptionModel, system: SubscriptionSystem): Promise<void> {
  const all = [0, 1, 2, 3]
  const steps = [
    setScheduling(true),
    ...all.map((which) => setPaused(which, false)),
    wait(dayMs),
    ...Array.from({ length: 2 }, () => [
      wait(3_600_000),
      look([0]),
      ...all.flatMap(() => [take(0), end(0, 'succeeds' as const)]),
    ]).flat(),
    ...all.map((which) => read(which, 1000)),
  ]
  for (const step of steps) if (step.check(model)) await step.run(model, system)
  for (const { dataset, mode, runs, read: got } of model.subscriptions) {
    const last = runs.findLast((run) => run.succeeded)
    const missed = model.events.filter((event) => event.dataset === dataset && event.sequence > last!.feedSequence)
    assert.deepEqual(missed, [], `${mode} covers everything in the end`)
    assert.equal(got.length, runs.filter(({ endedAt }) => endedAt !== null).length)
  }
}

export function subscriptionCommands(isConcurrent: boolean): fc.Arbitrary<Iterable<Command>> {
  const worker = fc.constantFrom(0, 1)
  const which = fc.nat(3)
  const dataset = fc.constantFrom('news', 'forum')
  const looking = fc.oneof(
    worker.map((one) => [one]),
    ...(isConcurrent ? [fc.constant([0, 1])] : []),
  )
  const times = fc.constantFrom(1000, 9000, 15_000, 31_000, 60_000, 61_000, 250_000, 600_000, 3_600_000, dayMs)
  const looks = looking.map(look)
  const ends = fc.constantFrom('succeeds' as const, 'succeeds', 'lacks vectors', 'fails')
  const rounds = fc.tuple(worker, ends, times).map((one) => round(...one))
  return fc.commands(
    [
      fc.tuple(fc.constantFrom('on_change' as const, 'scheduled', 'hybrid'), dataset).map((one) => subscribe(...one)),
      fc.tuple(dataset, fc.constantFrom(0, 0, 3000, 40_000)).map((one) => ingest(...one)),
      times.map(wait),
      times.map(wait),
      looks,
      looks,
      worker.map(take),
      worker.map(take),
      fc.tuple(worker, ends).map((one) => end(...one)),
      rounds,
      rounds,
      rounds,
      rounds,
      worker.map(crash),
      which.map(cancel),
      fc.tuple(which, fc.boolean()).map((one) => setPaused(...one)),
      fc.constantFrom(true, true, false).map(setScheduling),
      fc.constant(expire()),
      fc.tuple(which, fc.constantFrom(1, 2, 50)).map((one) => read(...one)),
    ],
    { maxCommands: 80, size: 'max' },
  )
}
