import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import fc from 'fast-check'
import { type ChangeQuery, type EventType, eventTypes } from '../../src/changes/change-log.ts'
import {
  allEvents,
  type ContentFixture,
  eventsOf,
  makeDatasets,
  openScope,
  plain,
  type ReadEvent,
} from './content-store.ts'

const startMs = Date.UTC(2026, 0)

/** The contract of every ChangeLog. `cases` is the number of random reads. */
export function checkChangeLog(name: string, openStore: () => Promise<ContentFixture>, cases: number): void {
  suite(`change log: ${name}`, () => {
    let store: ContentFixture
    let events: readonly ReadEvent[]

    before(async () => {
      store = await openStore()
      await makeDatasets(store.operator)
      // Three waves over the same documents, so that every type of event is next to every other.
      for (let wave = 0; wave < 3; wave++) {
        for (let part = 0; part < 10; part++) {
          const batch = Array.from({ length: 12 }, (_, i) =>
            plain(`${part}-${i}`, {
              datasetId: i % 3 === 0 ? 'd1' : 'd2',
              platform: `p${i % 4}`,
              body: `B${wave === 2 && i % 2 === 0 ? 2 : 1}`,
              score: i % 5 === 0 ? wave : 0,
              tags: [i % 4 === 1 ? `wave ${wave}` : 'same'],
            }),
          )
          await store.content.ingest(batch, startMs + wave * 100 + part)
        }
      }
      events = await allEvents(store.changes)
    })
    after(() => store.close())

    const query = (fields: Partial<ChangeQuery> = {}): ChangeQuery => ({
      after: 0,
      limit: 1000,
      scanMax: 10_000,
      scope: openScope('d1', 'd2'),
      eventTypes,
      ingestedFrom: null,
      ingestedTo: null,
      ...fields,
    })

    test('sequences ascend strictly', async () => {
      assert.ok(events.length > 180)
      events.forEach((event, i) => {
        assert.ok(i === 0 || event.sequence > events[i - 1]!.sequence)
      })
      assert.equal(new Set(events.map((event) => event.eventId)).size, events.length)
      const { newest, removedThrough } = await store.changes.state()
      assert.deepEqual([newest, removedThrough], [events.at(-1)!.sequence, 0])
    })

    test('random reads give what looking at every event gives', async () => {
      const newest = events.at(-1)!.sequence
      const some = <T>(...values: T[]) => fc.uniqueArray(fc.constantFrom(...values), { minLength: 1 })
      const orNull = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: null, freq: 2 })
      const time = fc.integer({ min: startMs - 5, max: startMs + 215 })
      const queries = fc.record({
        after: orNull(fc.integer({ min: 0, max: newest + 3 })),
        limit: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.constant(200)),
        scanMax: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.constant(20_000)),
        scope: fc
          .array(
            fc.record({ datasets: some('d1', 'd2', 'd3'), platforms: orNull(some('p0', 'p1', 'p2', 'p3', 'p9')) }),
            {
              minLength: 1,
              maxLength: 3,
            },
          )
          .map((pairs) => ({ entries: pairs.map((pair) => ({ ...openScope().entries[0]!, ...pair })) })),
        eventTypes: some<EventType>(...eventTypes),
        ingestedFrom: orNull(time),
        ingestedTo: orNull(time),
      })
      let full = 0
      await fc.assert(
        fc.asyncProperty(queries, async (asked) => {
          const from = asked.after ?? 0
          const lastScanned = Math.min(newest, from + asked.scanMax)
          const matching = events.filter(
            (one) =>
              one.sequence > from &&
              one.sequence <= lastScanned &&
              asked.scope.entries.some(
                (pair) =>
                  pair.datasets.includes(one.datasetId) &&
                  (pair.platforms === null || pair.platforms.includes(one.platform)),
              ) &&
              (asked.eventTypes as string[]).includes(one.eventType) &&
              (asked.ingestedFrom === null || one.ingestedAt >= asked.ingestedFrom) &&
              (asked.ingestedTo === null || one.ingestedAt < asked.ingestedTo),
          )
          const items = matching.slice(0, asked.limit)
          if (items.length === asked.limit) full++
          const position = items.length === asked.limit ? items.at(-1)!.sequence : Math.max(from, lastScanned)
          const page = await store.changes.read(asked)
          assert.deepEqual(eventsOf(page), items)
          assert.deepEqual([page.position, page.atEnd, page.removedThrough], [position, position >= newest, 0])
        }),
        { numRuns: cases },
      )
      assert.ok(full > 0)
    })

    test('a place is known by the event before it: not beyond the end, and not where another event stands', async () => {
      const { newest, last } = await store.changes.state()
      assert.equal(last!.sequence, newest)
      assert.equal(await store.changes.knows({ position: newest, passed: last }), true)
      assert.equal(await store.changes.knows({ position: newest, passed: null }), true)
      assert.equal(await store.changes.knows({ position: newest + 1, passed: null }), false)
      assert.equal(await store.changes.knows({ position: newest + 1, passed: last }), false)
      for (const limit of [2, 7, 1000]) {
        const page = await store.changes.read(query({ limit }))
        assert.equal(page.passed!.sequence, page.position)
        const { mark } = page.passed!
        const next = (passed: typeof last) => store.changes.read(query({ after: page.position, passed, limit: 3 }))
        assert.equal((await next(page.passed)).wasRolledBack, false)
        assert.equal((await next({ sequence: page.position, mark: `${mark.slice(1)}x` })).wasRolledBack, true)
        assert.equal((await next({ sequence: page.position - 1, mark })).wasRolledBack, true)
      }
      // A scan that ends between matching events has passed the last event that it looked at.
      const scanned = await store.changes.read(query({ scanMax: 5, eventTypes: ['document.erased'] }))
      assert.deepEqual([scanned.position, scanned.passed?.sequence], [5, 5])
    })

    test('pages joined are the whole, whatever their sizes', async () => {
      for (const [limit, scanMax] of [
        [1, 1],
        [3, 1000],
        [1000, 7],
        [13, 20],
      ] as const) {
        const seen: ReadEvent[] = []
        for (let from: number | null = null; ; ) {
          const page = await store.changes.read(query({ after: from, limit, scanMax }))
          seen.push(...eventsOf(page))
          from = page.position
          if (page.atEnd) break
        }
        assert.deepEqual(seen, events)
      }
    })

    test('retention removes a beginning of the sequence, in portions, and never a number twice', async () => {
      const own = await openStore()
      try {
        await makeDatasets(own.operator)
        const { content, changes } = own
        assert.equal(await changes.removeBefore(startMs + 1_000_000, 100), 0)
        assert.deepEqual(await changes.state(), { newest: 0, removedThrough: 0, last: null })
        assert.deepEqual(await changes.read(query({ after: null })), {
          events: [],
          position: 0,
          atEnd: true,
          removedThrough: 0,
          passed: null,
          wasRolledBack: false,
        })
        // The clock goes back once: a younger event keeps all events after it, too.
        for (const [i, time] of [0, 10, 20, 5, 30].entries()) {
          await content.ingest([plain(`${i}-a`), plain(`${i}-b`)], startMs + time)
        }
        const all = await allEvents(changes)
        assert.equal(await changes.removeBefore(startMs + 15, 3), 3)
        assert.equal(await changes.removeBefore(startMs + 15, 3), 1)
        assert.equal(await changes.removeBefore(startMs + 15, 3), 0)
        assert.deepEqual(await allEvents(changes), all.slice(4))
        const { newest, removedThrough } = await changes.state()
        assert.deepEqual([newest, removedThrough], [all.at(-1)!.sequence, all[3]!.sequence])
        assert.equal((await changes.read(query({ after: 1 }))).removedThrough, removedThrough)
        assert.deepEqual(eventsOf(await changes.read(query({ after: null, limit: 2 }))), all.slice(4, 6))

        // Expired events count as gone before they are removed, up to where removal would stop.
        const expired = async (before: number, knownThrough = 0) =>
          (await changes.state({ before: startMs + before, knownThrough })).removedThrough
        assert.equal(await expired(15), all[3]!.sequence)
        assert.equal(await expired(20), all[3]!.sequence)
        assert.equal(await expired(21), all[7]!.sequence)
        assert.equal(await expired(21, all[5]!.sequence), all[7]!.sequence)
        assert.equal(await expired(31), newest)
        const rest = await changes.read(query({ after: null, earliest: all[7]!.sequence }))
        assert.deepEqual(eventsOf(rest), all.slice(8))

        assert.equal(await changes.removeBefore(startMs + 1_000_000, 1000), 6)
        assert.deepEqual(await changes.state(), { newest, removedThrough: newest, last: null })
        await content.ingest([plain('after')], startMs + 50)
        const [next] = await allEvents(changes)
        assert.ok(next!.sequence > newest)
      } finally {
        await own.close()
      }
    })
  })
}
