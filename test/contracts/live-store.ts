import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import fc from 'fast-check'
import { liveQueryAt, statusOf } from '../../src/live/live-queries.ts'
import type { Creation, LiveQuery } from '../../src/live/live-store.ts'
import { isOver, isReady } from '../../src/live/states.ts'
import type { OperatorStore } from '../../src/operator/operator-store.ts'
import { makeDatasets, plain } from './content-store.ts'
import {
  type LiveFixture,
  type LiveModel,
  type LiveSystem,
  liveCommands,
  modelPlatforms,
  request,
} from './live-store-model.ts'

const startMs = Date.UTC(2026, 0)

/** Collectors `c1` to `c3`. The last may write to dataset d2 only. */
export async function makeCollectors(operator: OperatorStore): Promise<void> {
  await makeDatasets(operator)
  for (const [collectorId, datasets] of [
    ['c1', null],
    ['c2', null],
    ['c3', ['d2']],
  ] as const) {
    await operator.commit([{ kind: 'collector.create', collectorId, name: collectorId, datasets }], {
      actor: 'test',
      at: startMs,
    })
  }
}

/** The contract of every LiveStore. `cases` is the number of random histories of live queries. */
export function checkLiveStore(name: string, open: () => Promise<LiveFixture>, cases: number): void {
  suite(`live store: ${name}`, () => {
    let store: LiveFixture
    before(async () => {
      store = await open()
      await makeCollectors(store.operator)
    })
    after(() => store.close())

    const poll = (collectorId: string, nowMs: number, platforms = ['rss'], datasets: readonly string[] | null = null) =>
      store.live.lease({ collectorId, datasets, platforms, resourceKinds: null, max: 100, leaseMs: 10_000 }, nowMs)
    const created = (creation: Creation): LiveQuery => {
      assert.equal(creation.kind, 'created')
      return (creation as { liveQuery: LiveQuery }).liveQuery
    }
    /** Each test has an hour of its own, so that no lease or minute of another test affects it. */
    let hour = 0
    const freshHour = (): number => startMs + ++hour * 3_600_000

    test('a platform that nobody asked for in 5 minutes is not served', async () => {
      const now = freshHour()
      assert.deepEqual(await store.live.create(request(), now), { kind: 'not_served', platform: 'rss' })
      await poll('c3', now, ['rss'], ['d2'])
      assert.equal((await store.live.create(request(), now)).kind, 'not_served')
      await poll('c1', now)
      created(await store.live.create(request(), now))
      assert.equal((await store.live.create(request({ platforms: ['rss', 'x'] }), now)).kind, 'not_served')
      created(await store.live.create(request(), now + 299_999))
      assert.equal((await store.live.create(request(), now + 300_000)).kind, 'not_served')
    })

    test('a kind that no collector asked for is not served', async () => {
      const now = freshHour()
      const asked = { collectorId: 'c1', datasets: null, platforms: ['kinds'], max: 1, leaseMs: 1000 }
      await store.live.lease({ ...asked, resourceKinds: ['video'] }, now)
      const wanted = { platforms: ['kinds'] }
      assert.equal((await store.live.create(request(wanted), now)).kind, 'not_served')
      created(await store.live.create(request({ ...wanted, resourceKind: 'video' }), now))
    })

    test('a key gives its live query for 24 hours, refuses another body, and is then new', async () => {
      const now = freshHour()
      await poll('c1', now)
      const asked = request()
      const first = created(await store.live.create(asked, now))
      const again = await store.live.create(asked, now + 86_399_999)
      assert.deepEqual([again.kind, (again as { liveQuery: LiveQuery }).liveQuery], ['known', first])
      assert.equal(
        (await store.live.create({ ...asked, claim: { ...asked.claim, requestHash: 'other' } }, now)).kind,
        'key_reused',
      )
      created(await store.live.create({ ...asked, claim: { ...asked.claim, caller: 'another' } }, now))
      await poll('c1', now + 86_400_000)
      const next = created(await store.live.create(asked, now + 86_400_000))
      assert.notEqual(next.liveQueryId, first.liveQueryId)
    })

    test('limits count what is under way and what the last minute began; a known key is never refused', async () => {
      const now = freshHour()
      await poll('c1', now)
      const limited = { applicationId: `limited ${now}`, concurrentMax: 2, perMinuteMax: 3 }
      const first = request(limited)
      const { liveQueryId } = created(await store.live.create(first, now))
      created(await store.live.create(request({ ...limited, deadlineMs: 10_000 }), now + 1000))
      assert.deepEqual(await store.live.create(request(limited), now + 2000), {
        kind: 'too_many',
        retryAfterSeconds: 5,
      })
      assert.equal((await store.live.create(first, now + 2000)).kind, 'known')
      // Deadlines free a slot whether or not a worker has recorded them.
      created(await store.live.create(request(limited), now + 11_000))
      assert.deepEqual(await store.live.create(request(limited), now + 20_000), {
        kind: 'too_fast',
        retryAfterSeconds: 40,
      })
      await store.live.cancel(liveQueryId, now)
      assert.equal((await store.live.create(request({ ...limited, perMinuteMax: 0 }), now + 90_000)).kind, 'too_fast')
      assert.equal((await store.live.create(request({ ...limited, concurrentMax: 0 }), now + 90_000)).kind, 'too_many')
    })

    test('tasks are listed newest first, as they are at that moment; those that are over can be left out', async () => {
      const now = freshHour()
      await poll('c1', now)
      const first = created(await store.live.create(request({ deadlineMs: 20_000 }), now))
      const second = created(await store.live.create(request({ platforms: ['rss'] }), now + 1))
      const [task] = await poll('c1', now + 2)
      const taskIds = [second, first].map(({ runs }) => runs[0]!.taskId)
      const listed = async (unfinished: boolean, atMs: number, before: string | null = null) =>
        (await store.live.tasks({ unfinished, before, limit: 100 }, atMs)).filter(({ taskId }) =>
          taskIds.includes(taskId),
        )
      const states = async (unfinished: boolean, atMs: number, before: string | null = null) =>
        (await listed(unfinished, atMs, before)).map(({ taskId, status }) => [taskId, status])
      assert.deepEqual(
        await states(true, now + 3),
        taskIds.map((id) => [id, 'running']),
      )
      // Leases of 10 s and the deadline have passed, whether or not a worker has recorded that.
      assert.deepEqual(await states(true, now + 20_000), [[taskIds[0], 'pending']])
      assert.deepEqual(await states(false, now + 20_000), [
        [taskIds[0], 'pending'],
        [taskIds[1], 'timed_out'],
      ])
      assert.deepEqual(await states(false, now + 3, taskIds[0]), [[taskIds[1], 'running']])
      const [one] = await listed(false, now + 3, taskIds[0])
      assert.deepEqual(
        [one!.liveQueryId, one!.applicationId, one!.collectorId, one!.platform, one!.items, one!.error, one!.createdAt],
        [first.liveQueryId, 'app', 'c1', task!.platform, 0, null, now],
      )
      assert.equal((await store.live.tasks({ unfinished: false, before: null, limit: 1 }, now)).length, 1)
    })

    test('tasks that are not over are counted by state, no further than asked', async () => {
      const now = freshHour()
      await poll('c1', now)
      const before = await store.live.openTasks(1000)
      const more = (pending: number, running: number) => ({
        pending: before.pending + pending,
        running: before.running + running,
      })
      created(await store.live.create(request(), now))
      assert.deepEqual(await store.live.openTasks(1000), more(1, 0))
      assert.deepEqual(await store.live.openTasks(0), { pending: 0, running: 0 })
      assert.equal((await poll('c1', now)).length, 1)
      assert.deepEqual(await store.live.openTasks(1000), more(0, 1))
    })

    test('cancelled, a live query is over, its task is closed and its key is free', async () => {
      const now = freshHour()
      await poll('c1', now)
      const asked = request()
      const { liveQueryId } = created(await store.live.create(asked, now))
      const [task] = await poll('c1', now)
      await store.live.cancel(liveQueryId, now + 1)
      const claim = { taskId: task!.taskId, collectorId: 'c1', leaseId: null }
      assert.deepEqual(await store.live.heartbeat(claim, 1000, now + 2), { held: false, why: 'closed' })
      assert.equal((await store.live.find('app', liveQueryId))!.runs[0]!.status, 'cancelled')
      assert.equal(await store.live.find('another', liveQueryId), null)
      created(await store.live.create(asked, now + 3))
    })

    test('items are ordinary documents, each once, in order, as many as the task takes', async () => {
      const now = freshHour()
      await poll('c1', now)
      const { liveQueryId } = created(await store.live.create(request(), now))
      const [task] = await poll('c1', now)
      const claim = { taskId: task!.taskId, collectorId: 'c1', leaseId: task!.leaseId }
      const sent = ['a', 'b', 'a', 'c', 'd'].map((id) => plain(`${now}-${id}`, { datasetId: 'd1', platform: 'rss' }))
      const first = await store.live.deliver(claim, sent, now + 1)
      assert.ok(first.held)
      const outcomes = first.value.map((one) => ('outcome' in one ? one.outcome : one.refusal.code))
      assert.deepEqual(outcomes, ['created', 'created', 'unchanged', 'created', 'too_many_items'])
      const again = await store.live.deliver(claim, sent.slice(0, 2), now + 2)
      assert.ok(again.held)
      assert.deepEqual(
        again.value.map((one) => ('outcome' in one ? one.outcome : one.refusal.code)),
        ['unchanged', 'unchanged'],
      )
      const items = await store.live.items(liveQueryId, null, 10)
      assert.deepEqual(
        items.map(({ position }) => position),
        [
          [0, 0],
          [1, 0],
          [2, 0],
        ],
      )
      assert.deepEqual(await store.live.items(liveQueryId, [1, 0], 10), items.slice(2))
      assert.deepEqual(await store.live.items(liveQueryId, [2, 0], 10), [])
      assert.equal((await store.live.find('app', liveQueryId))!.runs[0]!.items, 3)
    })

    test('a delivery under a lost lease writes no document', async () => {
      const now = freshHour()
      await poll('c1', now)
      created(await store.live.create(request(), now))
      const [mine] = await poll('c1', now)
      const claim = { taskId: mine!.taskId, collectorId: 'c1', leaseId: mine!.leaseId }
      const [theirs] = await poll('c2', now + 10_000)
      assert.equal(theirs!.taskId, mine!.taskId)
      const late = [plain(`${now}-late`, { datasetId: 'd1', platform: 'rss' })]
      assert.deepEqual(await store.live.deliver(claim, late, now + 10_001), { held: false, why: 'lease_lost' })
      const [later] = await store.content.ingest(late, now + 10_002)
      assert.equal((later as { outcome: string }).outcome, 'created')
      // The same collector, another process: the lease id distinguishes them.
      const own = { ...claim, collectorId: 'c2', leaseId: mine!.leaseId }
      assert.deepEqual(await store.live.heartbeat(own, 1000, now + 10_003), { held: false, why: 'lease_lost' })
    })

    test('a bound collector gets tasks of its datasets only', async () => {
      const now = freshHour()
      await poll('c1', now)
      const { runs } = created(await store.live.create(request({ datasetId: 'd1' }), now))
      assert.deepEqual(await poll('c3', now, ['rss'], ['d2']), [])
      assert.deepEqual(
        (await poll('c1', now)).map(({ taskId }) => taskId),
        runs.map(({ taskId }) => taskId),
      )
    })

    test('racing requests with one key make one live query', async () => {
      if (!store.isolated) return
      const now = freshHour()
      await poll('c1', now)
      const asked = request()
      const made = await Promise.all(Array.from({ length: 8 }, () => store.live.create(asked, now)))
      assert.equal(made.filter(({ kind }) => kind === 'created').length, 1)
      assert.equal(new Set(made.map((one) => (one as { liveQuery: LiveQuery }).liveQuery.liveQueryId)).size, 1)
    })

    test('what is old is forgotten, what is under way is not', async () => {
      const now = freshHour()
      await poll('c1', now)
      const { liveQueryId } = created(await store.live.create(request(), now))
      while ((await store.live.settle(now, 100)) > 0);
      while ((await store.live.forget(now + 1, now + 1, 100)) > 0);
      assert.notEqual(await store.live.find('app', liveQueryId), null)
      while ((await store.live.settle(now + 60_000, 100)) > 0);
      assert.ok((await store.live.forget(now + 1, now + 1, 100)) > 0)
      assert.equal(await store.live.find('app', liveQueryId), null)
    })

    test(`${cases} random lives stay inside the table of states, and every live query ends`, async (context) => {
      let steps = 0
      let runs = 0
      await fc.assert(
        fc.asyncProperty(liveCommands(), async (commands) => {
          const now = freshHour()
          while ((await store.live.settle(now, 100)) > 0);
          await poll('c1', now, [...modelPlatforms])
          const system: LiveSystem = { fixture: store }
          const model: LiveModel = { nowMs: now, application: `model ${now}`, queries: [], runs: new Map(), steps: 0 }
          try {
            await fc.asyncModelRun(() => ({ model, real: system }), commands)
          } finally {
            store = system.fixture
          }
          steps += model.steps
          runs += model.runs.size
          // No process works any more, so deadlines alone must end everything.
          const end = model.nowMs + 901_000
          while ((await store.live.settle(end, 3)) > 0);
          for (const id of model.queries) {
            const stored = (await store.live.find(model.application, id))!
            assert.ok(stored.runs.every(({ status }) => isOver(status)) && stored.completedAt !== null)
            assert.ok(isReady(statusOf(stored)))
            assert.deepEqual(liveQueryAt(stored, end), stored)
          }
        }),
        { numRuns: cases },
      )
      context.diagnostic(`${cases} lives, ${steps} steps, ${runs} runs`)
    })
  })
}
