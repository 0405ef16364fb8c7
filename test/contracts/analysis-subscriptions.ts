import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import type { AnalysisStore, NewRun, Run } from '../../src/analysis/analysis-store.ts'
import { DueRuns } from '../../src/analysis/due-runs.ts'
import type { Subscription, SubscriptionStore } from '../../src/analysis/subscription-store.ts'
import type { ChangeLog } from '../../src/changes/change-log.ts'
import { newId } from '../../src/ids.ts'
import type { ContentStore } from '../../src/ingest/content-store.ts'
import type { Change, NewKey, OperatorStore } from '../../src/operator/operator-store.ts'
import {
  type SubscriptionModel,
  type SubscriptionSystem,
  schedulingPolicy,
  settle,
  subscriptionCommands,
} from './subscription-model.ts'

export interface SubscriptionFixture {
  readonly changes: ChangeLog
  readonly analysis: SubscriptionStore
  readonly content: ContentStore
  readonly operator: OperatorStore
}

const startMs = 1_800_000_000_000
const applicationId = 'app_one'

const subscription = (changes: Partial<Subscription> = {}): Subscription => ({
  subscriptionId: newId('sub', startMs),
  applicationId,
  name: 'news',
  analysisType: 'feature_rollup',
  inputScope: { dataset_ids: ['news'] },
  executionMode: 'on_change',
  embeddingProfileId: null,
  parameters: null,
  intervalSeconds: null,
  artifactRetentionDays: null,
  paused: false,
  createdAt: startMs,
  updatedAt: startMs,
  checkpoint: null,
  ...changes,
})

const newRun = (now: number): NewRun => ({
  runId: newId('run', now),
  applicationId,
  analysisType: 'feature_rollup',
  embeddingProfileId: null,
  inputScope: { dataset_ids: ['news'] },
  parameters: { by: ['platform'], bucket: null },
  inputCutoffAt: now,
  retentionDays: 1,
  scope: { entries: [] },
  createdAt: now,
  expiresAt: now + 10_000,
})

/** A run that waits, executed to its success at a time. */
async function succeed(store: AnalysisStore, at: number): Promise<void> {
  const taken = await store.takeRun({ workerId: 'w', now: at, until: at + 100 })
  await store.beginRun(taken!.runId, 'w', { chunks: 0, documents: 1, withoutVector: 0 }, [])
  const artifact = { artifactId: newId('art', at), name: 'rollup', rows: 1, bytes: 2, sha256: 'ab' }
  assert.ok(await store.endRun(taken!.runId, 'w', { at, artifacts: [artifact] }))
}

async function fail(store: AnalysisStore, at: number): Promise<void> {
  const taken = await store.takeRun({ workerId: 'w', now: at, until: at + 100 })
  assert.ok(await store.endRun(taken!.runId, 'w', { at, error: { code: 'internal', message: 'no' } }))
}

const keyOf = (application: string, nowMs: number): NewKey => ({
  keyId: newId('key', nowMs),
  owner: { kind: 'consumer', id: application },
  rights: null,
  name: null,
  prefix: 'tmc_',
  hash: application,
  expiresAt: null,
})

interface Extent {
  readonly numRuns: number
  /** Whether a call is a transaction of its own, so that calls may be made at once. */
  readonly isConcurrent: boolean
}

export function subscriptionContract(
  name: string,
  open: () => Promise<SubscriptionFixture>,
  { numRuns, isConcurrent }: Extent,
): void {
  suite(`subscriptions: ${name}`, () => {
    test('start what is due and nothing else, one run at a time, and miss no change, whatever is done by whom and when', {
      timeout: 240_000,
    }, async () => {
      const fixture = await open()
      const { operator } = fixture
      let nowMs = startMs
      const commit = (changes: readonly Change[]) => operator.commit(changes, { actor: 'test', at: nowMs })
      await commit(
        ['news', 'forum'].map((datasetId) => ({ kind: 'dataset.put', datasetId, name: 'D', description: null })),
      )
      await fc.assert(
        fc.asyncProperty(subscriptionCommands(isConcurrent), async (sequence) => {
          const application = newId('app', nowMs)
          await commit([
            { kind: 'application.create', applicationId: application, name: 'A', policy: schedulingPolicy(true) },
            { kind: 'entitlements.put', applicationId: application, entitlements: [{ datasets: ['news', 'forum'] }] },
            { kind: 'key.create', ...keyOf(application, nowMs) },
          ])
          const model: SubscriptionModel = {
            nowMs,
            isScheduled: true,
            subscriptions: [],
            events: [],
            held: [null, null],
            documents: 0,
          }
          const newWorker = () =>
            new DueRuns({ store: fixture.analysis, clock: async () => model.nowMs, started: () => {} })
          const workers = [newWorker(), newWorker()]
          const real: SubscriptionSystem = { fixture, applicationId: application, workers, newWorker }
          try {
            await fc.asyncModelRun(() => ({ model, real }), sequence)
            await settle(model, real)
          } finally {
            nowMs = model.nowMs
            await commit([{ kind: 'application.delete', applicationId: application, force: true }])
          }
          for (const worker of workers) await worker.start()
          for (const { id } of model.subscriptions)
            assert.equal(await fixture.analysis.subscription(application, id), null)
        }),
        { numRuns },
      )
    })

    test('one run is under way at a time, covers the feed so far, and its success moves the checkpoint', async () => {
      const { analysis, content, operator } = await open()
      const dataset = { kind: 'dataset.put', datasetId: 'news', name: 'News', description: null } as const
      await operator.commit([dataset], { actor: 'test', at: startMs })
      const put = (externalId: string, at: number) =>
        content.ingest([{ datasetId: 'news', platform: 'rss', externalId, title: externalId }], at)
      const one = subscription()
      const { subscriptionId } = one
      await analysis.addSubscription(one)
      const start = (afterTurn: number, at: number, concurrentMax: number | null = null): Promise<Run | null> =>
        analysis.startRun({ subscriptionId, afterTurn, run: newRun(at), concurrentMax })
      const checkpoint = async () => (await analysis.subscription(applicationId, subscriptionId))!.checkpoint

      await put('a', startMs)
      // The clock of who wrote this one is ahead.
      await put('b', startMs + 5000)
      assert.equal(await start(0, startMs, 0), null, 'no place for another run')
      const first = (await start(0, startMs))!
      assert.deepEqual(first.subscription, { subscriptionId, turn: 1, feedSequence: 2 })
      assert.equal(first.inputCutoffAt, startMs + 5000)
      assert.deepEqual(await analysis.run(applicationId, first.runId), first)
      assert.equal(await start(0, startMs), null, 'another has started it')
      assert.equal(await start(1, startMs), null, 'it is under way')
      assert.equal(await checkpoint(), null)
      await succeed(analysis, startMs + 10)
      assert.deepEqual(await checkpoint(), { sequence: 2, runId: first.runId, completedAt: startMs + 10 })

      await put('c', startMs + 20)
      const second = (await start(1, startMs + 30))!
      assert.deepEqual(second.subscription, { subscriptionId, turn: 2, feedSequence: 3 })
      await fail(analysis, startMs + 40)
      assert.deepEqual(await checkpoint(), { sequence: 2, runId: first.runId, completedAt: startMs + 10 })
      const third = (await start(2, startMs + 50))!
      const before = (now: number) => analysis.previousRun(subscriptionId, third.subscription!.turn, now)
      assert.equal((await before(startMs + 60))?.runId, first.runId)
      assert.equal(await before(first.expiresAt), null)
      assert.equal(await analysis.previousRun(subscriptionId, 1, startMs + 60), null)

      // One whose time is over before it has ended is under way no more.
      await analysis.setPaused(applicationId, subscriptionId, true, startMs + 60)
      assert.equal(await start(3, third.expiresAt), null, 'it is paused')
      await analysis.setPaused(applicationId, subscriptionId, false, startMs + 70)
      assert.equal(await start(3, third.expiresAt - 1), null)
      assert.equal((await start(3, third.expiresAt))?.subscription?.turn, 4)
    })
  })
}
