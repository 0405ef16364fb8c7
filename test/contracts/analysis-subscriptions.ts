import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import type { Policy } from '../../src/access/policy.ts'
import type { AnalysisStore, NewRun, Run } from '../../src/analysis/analysis-store.ts'
import { DueRuns } from '../../src/analysis/due-runs.ts'
import type { ChangesQuery, Subscription, SubscriptionStore } from '../../src/analysis/subscription-store.ts'
import type { ChangeLog } from '../../src/changes/change-log.ts'
import type { ContentStore, IncomingDocument } from '../../src/ingest/content-store.ts'
import type { Change, NewKey, OperatorStore } from '../../src/operator/operator-store.ts'
import { newId } from '../../src/platform/ids.ts'
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

/** Ids of one millisecond have no order, so each subscription is made a millisecond after the previous one. */
let made = 0
const subscription = (changes: Partial<Subscription> = {}): Subscription => ({
  subscriptionId: newId('sub', startMs + made++),
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

/** Takes a waiting run and executes it until it succeeds, at the given time. */
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
  /** Whether each call is a transaction of its own, so that calls may run at once. */
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

    test('wait for a run: not paused, none under way, of an application with a key that works and scheduling', async () => {
      const { analysis, operator } = await open()
      const commit = (...changes: readonly Change[]) => operator.commit(changes, { actor: 'test', at: startMs })
      const policies = [
        schedulingPolicy(true),
        schedulingPolicy(false),
        {},
        { ...schedulingPolicy(true), analysis_enabled: false },
      ]
      const ids: string[] = []
      const keys: string[] = []
      for (const [i, policy] of policies.entries()) {
        const owner = `app_${i}`
        const key = keyOf(owner, startMs)
        keys.push(key.keyId)
        await commit(
          { kind: 'application.create', applicationId: owner, name: 'A', policy },
          { kind: 'key.create', ...key },
        )
        const one = subscription({ applicationId: owner })
        ids.push(one.subscriptionId)
        await analysis.addSubscription(one)
      }
      const paused = subscription({ applicationId: 'app_0', paused: true })
      const second = subscription({ applicationId: 'app_0' })
      for (const one of [paused, second]) await analysis.addSubscription(one)
      const waiting = async (now: number, limit = 100): Promise<readonly string[]> => {
        const found: string[] = []
        let after: string | null = null
        do {
          const page = await analysis.waitingSubscriptions({ after, limit, now })
          found.push(...page.waiting.map((one) => one.subscription.subscriptionId))
          after = page.nextAfter
        } while (after !== null)
        return found
      }
      assert.deepEqual(await waiting(startMs), [ids[0], second.subscriptionId])
      assert.deepEqual(await waiting(startMs, 1), [ids[0], second.subscriptionId])
      const run = { ...newRun(startMs), applicationId: 'app_0' }
      await analysis.startRun({ subscriptionId: ids[0]!, afterTurn: 0, run, concurrentMax: null })
      assert.deepEqual(await waiting(startMs), [second.subscriptionId])
      assert.deepEqual(await waiting(run.expiresAt), [ids[0], second.subscriptionId])
      await analysis.cancelRun('app_0', run.runId, startMs + 5)
      const [first] = (await analysis.waitingSubscriptions({ after: null, limit: 1, now: startMs + 5 })).waiting
      assert.deepEqual(
        [first!.turn, first!.tries, first!.last],
        [1, 1, { startedAt: startMs, endedAt: startMs + 5, isComplete: false }],
      )
      await commit({ kind: 'key.expire', keyId: keys[0]!, expiresAt: startMs + 10 })
      assert.deepEqual(await waiting(startMs + 9), [ids[0], second.subscriptionId])
      assert.deepEqual(await waiting(startMs + 10), [])
      await commit({ kind: 'key.create', ...keyOf('app_0 again', startMs), owner: { kind: 'consumer', id: 'app_0' } })
      assert.deepEqual(await waiting(startMs + 10), [ids[0], second.subscriptionId])
      await commit({ kind: 'application.delete', applicationId: 'app_0', force: true })
      assert.deepEqual(await waiting(startMs), [])
    })

    test('a run that may not be started waits: for a place, for its scope; what cannot be read keeps no other from it', async () => {
      const { analysis, operator } = await open()
      let nowMs = startMs
      const commit = (...changes: readonly Change[]) => operator.commit(changes, { actor: 'test', at: nowMs })
      const policy = {
        ...schedulingPolicy(true),
        analysis: { ...schedulingPolicy(true).analysis, max_concurrent_runs: 1 },
      }
      const unreadable = { analysis: 'all of it' } as unknown as Policy
      for (const [owner, given] of [
        ['app_damaged', unreadable],
        ['app_one', policy],
      ] as const) {
        await commit({ kind: 'application.create', applicationId: owner, name: 'A', policy: given })
        await commit({ kind: 'key.create', ...keyOf(owner, nowMs) })
        await commit({ kind: 'entitlements.put', applicationId: owner, entitlements: [{ datasets: ['news'] }] })
      }
      const make = async (changes: Partial<Subscription>): Promise<string> => {
        const one = subscription({ parameters: { by: ['platform'] }, executionMode: 'scheduled', ...changes })
        await analysis.addSubscription(one)
        return one.subscriptionId
      }
      await make({ applicationId: 'app_damaged' })
      const dueRuns = new DueRuns({ store: analysis, clock: async () => nowMs, started: () => {} })
      const started = async (): Promise<readonly string[]> => {
        await assert.rejects(dueRuns.start(), { name: 'UnreadableRights' })
        const page = { status: null, before: null, limit: 100, now: nowMs, goneBefore: 0 }
        const runs = await analysis.runs({ applicationId: 'app_one', ...page })
        return runs.map((run) => run.subscription!.subscriptionId).reverse()
      }
      const first = await make({})
      const second = await make({})
      const outside = await make({ inputScope: { dataset_ids: ['forum'] } })
      assert.deepEqual(await started(), [first])
      await succeed(analysis, nowMs)
      nowMs += 5000
      assert.deepEqual(await started(), [first, second])
      await succeed(analysis, nowMs)
      nowMs += 5000
      assert.deepEqual(await started(), [first, second])
      const entitlements = [{ datasets: ['news', 'forum'] }]
      await commit({ kind: 'entitlements.put', applicationId: 'app_one', entitlements })
      nowMs += 5000
      assert.deepEqual(await started(), [first, second, outside])
    })

    test('what has changed within a scope: new documents that are in it, and whatever happens to older ones', async () => {
      const { analysis, content, changes, operator } = await open()
      const datasets = ['news', 'forum'].map(
        (datasetId) => ({ kind: 'dataset.put', datasetId, name: 'D', description: null }) as const,
      )
      await operator.commit(datasets, { actor: 'test', at: startMs })
      let at = startMs
      const put = async (fields: Partial<IncomingDocument>): Promise<void> => {
        const document = { datasetId: 'news', platform: 'rss', externalId: 'x', title: 'T', language: 'en', ...fields }
        await content.ingest([document], ++at)
      }
      const entry = {
        regions: null,
        publishedFrom: null,
        publishedTo: null,
        fields: ['body' as const, 'metrics' as const],
      }
      const scope = { entries: [{ ...entry, datasets: ['news'], platforms: ['rss'], languages: ['en'] }] }
      const inputScope = { dataset_ids: ['news'], content_types: ['post'] }
      const query = { events: 2, scope, inputScope, withMetrics: false, now: startMs + 1000 }
      const after = async (position: number, changed: Partial<ChangesQuery> = {}) =>
        analysis.changesWithin({ ...query, after: position, ...changed })
      const found = async (position: number, changed: Partial<ChangesQuery> = {}) =>
        (await after(position, { events: 100, ...changed })).changes

      await put({ externalId: 'in', contentType: 'post', publishedAt: startMs })
      assert.deepEqual(await after(0), { through: 1, changes: { firstAt: at, lastAt: at } })
      await put({ externalId: 'platform', contentType: 'post', platform: 'web' })
      await put({ externalId: 'dataset', contentType: 'post', datasetId: 'forum' })
      await put({ externalId: 'language', contentType: 'post', language: 'de' })
      await put({ externalId: 'content type', contentType: 'article' })
      assert.deepEqual(await after(1), { through: 3, changes: null })
      assert.deepEqual(await after(1, { events: 100 }), { through: 5, changes: null })
      const newer = { ...inputScope, created_from: new Date(at).toISOString() }
      assert.equal(await found(0, { inputScope: newer }), null)
      assert.equal((await found(0, { inputScope: { ...newer, content_types: ['article'] } })) === null, false)
      const published = new Date(startMs).toISOString()
      const finer = published.replace('Z', '0001Z')
      for (const [times, isFound] of [
        [{ published_from: published }, true],
        [{ published_from: finer }, false],
        [{ published_to: finer }, true],
        [{ published_to: published }, false],
      ] as const) {
        assert.equal((await found(0, { inputScope: { ...inputScope, ...times } })) !== null, isFound)
      }

      // The document was in the scope and has left it.
      await put({ externalId: 'in', contentType: 'post', language: 'de', title: 'Other' })
      const leaving = at
      assert.deepEqual(await found(5), { firstAt: leaving, lastAt: leaving })
      const { newest } = await changes.state()
      await put({ externalId: 'in', contentType: 'post', language: 'de', title: 'Other', metrics: { likes: 1 } })
      await put({ externalId: 'language', contentType: 'post', language: 'de', title: 'Other' })
      assert.equal(await found(newest, { withMetrics: true }), null, 'the application may read none of these events')
      await put({ externalId: 'content type', contentType: 'article', metrics: { likes: 1 } })
      assert.equal(await found(newest), null)
      assert.deepEqual(await found(newest, { withMetrics: true }), { firstAt: at, lastAt: at })
      assert.deepEqual(await found(0, { withMetrics: true }), { firstAt: leaving, lastAt: at })
      assert.deepEqual(await found(0, { now: startMs }), { firstAt: startMs, lastAt: startMs }, 'never later than now')

      // Events that are gone from the feed count as changes.
      await changes.removeBefore(startMs + 3, 100)
      assert.deepEqual(await after(1), { through: 2, changes: { firstAt: 0, lastAt: 0 } })
      assert.deepEqual(await after(2), { through: 4, changes: null })
      const end = (await changes.state()).newest
      assert.deepEqual(await after(end), { through: end, changes: null })
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
      // The writer's clock is ahead.
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

      // A run past its time that has not ended no longer counts as under way.
      await analysis.setPaused(applicationId, subscriptionId, true, startMs + 60)
      assert.equal(await start(3, third.expiresAt), null, 'it is paused')
      await analysis.setPaused(applicationId, subscriptionId, false, startMs + 70)
      assert.equal(await start(3, third.expiresAt - 1), null)
      assert.equal((await start(3, third.expiresAt))?.subscription?.turn, 4)
    })

    test('runs that have ended: in turn, with one whose time is over from that moment on, and until it is gone', async () => {
      const { analysis } = await open()
      const one = subscription()
      const { subscriptionId } = one
      await analysis.addSubscription(one)
      const start = async (afterTurn: number, at: number): Promise<Run> =>
        (await analysis.startRun({ subscriptionId, afterTurn, run: newRun(at), concurrentMax: null }))!
      const ended = async (now: number, { afterTurn = 0, limit = 10, goneBefore = 0 } = {}): Promise<string[]> =>
        (await analysis.endedRuns({ subscriptionId, afterTurn, limit, now, goneBefore })).map((run) => run.runId)

      const first = await start(0, startMs)
      await succeed(analysis, startMs + 10)
      const second = await start(1, startMs + 20)
      assert.deepEqual(await ended(second.expiresAt - 1), [first.runId])
      assert.deepEqual(await ended(second.expiresAt), [first.runId, second.runId])
      assert.deepEqual(await ended(second.expiresAt, { limit: 1 }), [first.runId])
      assert.deepEqual(await ended(second.expiresAt, { afterTurn: 1 }), [second.runId])
      const goneBefore = first.expiresAt
      assert.deepEqual(await ended(second.expiresAt, { goneBefore: goneBefore - 1 }), [first.runId, second.runId])
      assert.deepEqual(await ended(second.expiresAt, { goneBefore }), [second.runId])

      const knows = (turn: number, runId: string | null) => analysis.knowsRun(subscriptionId, { turn, runId })
      assert.deepEqual(
        [await knows(1, first.runId), await knows(2, second.runId), await knows(2, null)],
        [true, true, true],
      )
      assert.deepEqual(
        [await knows(2, first.runId), await knows(3, second.runId), await knows(3, null)],
        [false, false, false],
      )
    })
  })
}
