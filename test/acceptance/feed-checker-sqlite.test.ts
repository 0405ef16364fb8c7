import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { casesOf } from '../support/cases.ts'
import type { FeedEvent } from './content.ts'
import { checkFeed, summaryOf } from './feed-checker.ts'
import { type Trace, verify } from './feed-checker-verify.ts'

suite('the checker of the feed', () => {
  const event = (sequence: number): FeedEvent => ({
    sequence,
    event_id: `evt_${sequence}`,
    schema_version: 1,
    event_type: 'document.created',
    dataset_id: 'd',
    source_platform: 'p',
    document_id: `doc_${sequence}`,
    version_id: `ver_${sequence}`,
    changed_fields: ['title'],
    occurred_at: 'occurred',
    observed_at: 'observed',
    ingested_at: 'ingested',
  })
  const events = Array.from({ length: 10 }, (_, i) => event(i + 1))
  const acknowledged = events.map((one) => ({ documentId: one.document_id, versionId: one.version_id! }))
  const judge = (changes: Partial<Trace> & { seen?: readonly FeedEvent[] }) => {
    const { seen = events, ...rest } = changes
    const { faults, ...counts } = verify({
      acknowledged,
      feed: events,
      passes: [{ name: 'r', wants: () => true, events: seen }],
      ...rest,
    })
    assert.equal(
      faults.length > 0,
      Object.values(counts).some((count) => count > 0),
    )
    return counts
  }
  const none = { lost: 0, repeated: 0, outOfOrder: 0, altered: 0 }

  test('finds nothing where nothing is wrong', () => {
    assert.deepEqual(judge({}), none)
    const even = (one: FeedEvent) => one.sequence % 2 === 0
    assert.deepEqual(judge({ passes: [{ name: 'r', wants: even, events: events.filter(even) }] }), none)
  })

  test('finds a hole in a pass, at its end too', () => {
    assert.deepEqual(judge({ seen: events.toSpliced(4, 1) }), { ...none, lost: 1 })
    assert.deepEqual(judge({ seen: events.slice(0, 8) }), { ...none, lost: 2 })
    assert.deepEqual(judge({ seen: [] }), { ...none, lost: 10 })
  })

  test('finds a repetition and a swap', () => {
    assert.deepEqual(judge({ seen: events.toSpliced(5, 0, events[4]!) }), { ...none, repeated: 1 })
    assert.deepEqual(judge({ seen: [...events, events[0]!] }), { ...none, repeated: 1 })
    assert.deepEqual(judge({ seen: events.toSpliced(4, 2, events[5]!, events[4]!) }), { ...none, outOfOrder: 1 })
  })

  test('an event of what was erased since may have its ids alone, and no other', () => {
    const forgotten = { changed_fields: [], occurred_at: 'ingested', observed_at: 'ingested' }
    const feed = events.with(3, { ...events[3]!, ...forgotten })
    assert.deepEqual(judge({ feed }), { ...none, altered: 1 })
    const { version_id: _, ...last } = event(11)
    const gone: FeedEvent = { ...last, ...forgotten, event_type: 'document.erased', document_id: 'doc_4' }
    assert.deepEqual(judge({ feed: [...feed, gone], seen: [...events, gone] }), none)
    const other = { ...events[3]!, ...forgotten, document_id: 'doc_5' }
    assert.deepEqual(judge({ feed: [...feed, gone], seen: [...events.with(3, other), gone] }), { ...none, altered: 1 })
  })

  test('finds what a reader saw and the feed does not have', () => {
    assert.deepEqual(judge({ seen: [...events, event(11)] }), { ...none, altered: 1 })
    assert.deepEqual(judge({ seen: events.with(3, { ...events[3]!, document_id: 'doc_x' }) }), { ...none, altered: 1 })
    assert.deepEqual(judge({ passes: [{ name: 'r', wants: (one) => one.sequence > 1, events }] }), {
      ...none,
      altered: 1,
    })
  })

  test('finds an acknowledged version that no event tells of, or two do', () => {
    const more = [...acknowledged, { documentId: 'doc_11', versionId: 'ver_11' }]
    assert.deepEqual(judge({ acknowledged: more }), { ...none, lost: 1 })
    const twice = { ...event(11), document_id: 'doc_1', version_id: 'ver_1' }
    assert.equal(judge({ feed: [...events, twice], seen: [...events, twice] }).repeated, 2)
  })

  // Enough for several kills of everything that can be killed. TEST_CASES makes it longer.
  const changes = casesOf(2000, 2000)
  test('many writers, readers that restart, a server that is killed: nothing lost, repeated or out of order', async () => {
    const result = await checkFeed({ events: changes, writers: 8, seed: 20_261_115, changesAlive: [300, 1000] })
    const { text, good } = summaryOf(result)
    console.log(text)
    assert.ok(
      good,
      [text, ...result.faults, ...result.wrongReplays, ...result.copyFaults, ...result.entitledFaults].join('\n'),
    )
    assert.ok(result.events >= changes && result.kills > 0 && result.replayed > 0)
    assert.ok(result.mirrorKills > 0 && result.erased > 0)
  })
})
