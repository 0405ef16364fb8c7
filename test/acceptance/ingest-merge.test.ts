import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { emptyValues, sampledFields, sampleValues } from '../support/document-fields.ts'
import { documentsOf, eventsAfter, type Sent, sendOne, wholeFeed } from './content.ts'
import { sharedServer, type TestServer } from './harness.ts'

const news = 'merge-news'
const documentOf = documentsOf(news)

/** The result of sending a document again, in part or whole. */
describe('a document that is sent again', () => {
  let server: TestServer
  let collector: string
  let reader: string

  before(async () => {
    server = await sharedServer()
    await server.makeDataset(news)
    collector = (await server.makeCollector()).key
    reader = (await server.makeApplication({ entitlements: [{ datasets: [news] }] })).key
  })

  const read = async (documentId: string | undefined, rest = '') => {
    const answer = await server.consumer(reader, 'GET', `/v1/documents/${documentId}${rest}`)
    assert.equal(answer.status, 200, answer.text)
    return answer.body
  }

  const full = (externalId: string): Sent =>
    documentOf(externalId, {
      ...sampleValues('name'),
      observed_at: '2026-01-02T00:00:00Z',
      author: { external_author_id: 'u1', nickname: 'N', follower_count: 3, verified: true, extra: { city: 'Hull' } },
      tags: ['a', 'b', 'a'],
      score: 7,
      metrics: { likes: 1, shares: 2 },
      quality: 0.5,
      facts: [
        { kind: 'category', metadata: { label_code: 'sports' } },
        { kind: 'category', level: 'version', metadata: { label_code: 'draft' } },
        { kind: 'entity', metadata: { label_code: 'not-a-category' } },
      ],
      extra_payload: { secret: 'hush-hush' },
    })

  test('absent fields keep what is known', async () => {
    const { document_id } = await sendOne(server, collector, full('absent'))
    const before = await read(document_id)
    assert.deepEqual(before.tags, ['a', 'b'])
    assert.deepEqual(before.classifications, ['sports', 'draft'])
    assert.deepEqual(before.snapshot.metrics, { likes: 1, shares: 2 })
    const { outcome } = await sendOne(server, collector, {
      dataset_id: news,
      source_platform: 'rss',
      external_id: 'absent',
      body: 'Body of absent',
    })
    assert.equal(outcome, 'unchanged')
    assert.deepEqual(await read(document_id), before)
    const updated = await sendOne(server, collector, {
      dataset_id: news,
      source_platform: 'rss',
      external_id: 'absent',
      body: 'Body of absent',
      region: 'FR',
      observed_at: '2026-01-03T00:00:00Z',
    })
    assert.equal(updated.outcome, 'updated')
    assert.deepEqual(await read(document_id), { ...before, region: 'FR', observed_at: '2026-01-03T00:00:00.000Z' })
  })

  test('null takes a field away', async () => {
    const { document_id } = await sendOne(server, collector, full('null'))
    const before = await read(document_id)
    const gone = sampledFields.filter(({ required }) => !required)
    const names = gone.map(({ name }) => name)
    const taken = Object.fromEntries(
      [...names, 'quality', 'facts', 'score', 'metrics', 'extra_payload'].map((name) => [name, null]),
    )
    assert.equal((await sendOne(server, collector, documentOf('null', taken))).outcome, 'metrics_updated')
    const after = await read(document_id)
    const observed_at = after.observed_at
    assert.deepEqual(after, {
      ...before,
      ...emptyValues('name', gone),
      classifications: [],
      score: null,
      observed_at,
      snapshot: { ...after.snapshot, score: null, metrics: {} },
    })
  })

  test('title alone and body alone make versions that keep the other', async () => {
    const identity = { dataset_id: news, source_platform: 'rss', external_id: 'halves' }
    const first = await sendOne(server, collector, { ...identity, title: 'T1', body: 'B1' })
    const second = await sendOne(server, collector, { ...identity, title: 'T2' })
    const third = await sendOne(server, collector, { ...identity, body: 'B3' })
    const fourth = await sendOne(server, collector, { ...identity, title: null, body: 'B3' })
    const texts = []
    for (const { version_id } of [first, second, third, fourth]) {
      const { title, body, is_current } = await read(first.document_id, `/content?version_id=${version_id}`)
      texts.push([title, body, is_current])
    }
    assert.deepEqual(texts, [
      ['T1', 'B1', false],
      ['T2', 'B1', false],
      ['T2', 'B3', false],
      [null, 'B3', true],
    ])
    const back = await sendOne(server, collector, { ...identity, title: 'T1', body: 'B1' })
    assert.equal(back.outcome, 'version_created')
    assert.equal((await read(first.document_id)).version_count, 5)
  })

  test('facts about a version end with it, facts about the document stay', async () => {
    const { document_id } = await sendOne(server, collector, full('facts'))
    const { cursor } = await wholeFeed(server, reader)
    await sendOne(server, collector, documentOf('facts', { body: 'New body' }))
    assert.deepEqual((await read(document_id)).classifications, ['sports'])
    const [event] = await eventsAfter(server, reader, cursor)
    assert.ok(event!.changed_fields.includes('facts'))
    await sendOne(server, collector, { ...full('facts'), body: 'Newer body' })
    assert.deepEqual((await read(document_id)).classifications, ['sports', 'draft'])
    await sendOne(server, collector, { ...full('facts'), body: 'Newest body' })
    assert.deepEqual((await read(document_id)).classifications, ['sports', 'draft'])
  })

  test('the first-ingest time is the server`s and is set once', async () => {
    const startedMs = Date.now()
    const { document_id } = await sendOne(
      server,
      collector,
      documentOf('first-time', { observed_at: '2001-01-01T00:00:00Z' }),
    )
    const { created_at } = await read(document_id)
    assert.ok(Date.parse(created_at) >= startedMs && Date.parse(created_at) <= Date.now())
    await sendOne(server, collector, documentOf('first-time', { body: 'Other', score: 4 }))
    assert.equal((await read(document_id)).created_at, created_at)
  })

  test('without a time of observation it is when something new arrived', async () => {
    const { document_id } = await sendOne(
      server,
      collector,
      documentOf('observed', { observed_at: '2001-01-01T00:00:00Z' }),
    )
    await sendOne(server, collector, documentOf('observed'))
    assert.equal((await read(document_id)).observed_at, '2001-01-01T00:00:00.000Z')
    const startedMs = Date.now()
    await sendOne(server, collector, documentOf('observed', { score: 3 }))
    const { observed_at, snapshot } = await read(document_id)
    assert.ok(Date.parse(observed_at) >= startedMs)
    assert.equal(snapshot.observed_at, observed_at)
  })

  test('languages are kept in their short form', async () => {
    for (const [sent, kept] of [
      ['en-GB', 'en'],
      ['eng', 'en'],
      ['deu_AT', 'de'],
      ['yue', 'yue'],
      ['PT_br', 'pt'],
      ['DE', 'de'],
      ['zh-Hans-CN', 'zh'],
    ]) {
      const { document_id } = await sendOne(server, collector, documentOf(`language-${sent}`, { language: sent }))
      assert.equal((await read(document_id)).language, kept)
      assert.equal(
        (await sendOne(server, collector, documentOf(`language-${sent}`, { language: kept }))).outcome,
        'unchanged',
      )
    }
  })

  test('status is what the collector last said', async () => {
    const { document_id } = await sendOne(server, collector, documentOf('status'))
    assert.equal((await read(document_id)).status, 'active')
    assert.equal((await sendOne(server, collector, documentOf('status', { status: 'unavailable' }))).outcome, 'updated')
    assert.equal((await sendOne(server, collector, documentOf('status'))).outcome, 'unchanged')
    assert.equal((await read(document_id)).status, 'unavailable')
  })

  test('the order of metric names is no change; a number of another spelling neither', async () => {
    await sendOne(server, collector, documentOf('metrics', { metrics: { a: 1, b: 2.5 }, score: 10 }))
    const again = await sendOne(server, collector, documentOf('metrics', { metrics: { b: 2.5, a: 1.0 }, score: 10.0 }))
    assert.equal(again.outcome, 'unchanged')
  })

  test('a change that nobody reads is an event that names the time of observation, unless that stays too', async () => {
    const { document_id } = await sendOne(server, collector, documentOf('unread', { quality: 0.1 }))
    const change = async (fields: Sent) => {
      assert.equal((await sendOne(server, collector, documentOf('unread', fields))).outcome, 'updated')
      const { events } = await wholeFeed(server, reader, { event_type: 'document.updated' })
      return events.filter((event) => event.document_id === document_id).map((event) => event.changed_fields)
    }
    const seen = ['observed_at']
    const facts = [{ kind: 'entity', metadata: { label_code: 'no-category' } }]
    assert.deepEqual(await change({ quality: 0.2 }), [seen])
    assert.deepEqual(await change({ extra_payload: { a: 1 } }), [seen, seen])
    assert.deepEqual(await change({ facts }), [seen, seen, seen])
    const { observed_at } = await read(document_id)
    assert.equal((await change({ quality: 0.3, observed_at })).length, 3)
  })

  test('extra_payload is kept, changes nothing anyone sees, and is never returned', async () => {
    const { document_id, version_id } = await sendOne(server, collector, full('payload'))
    const changed = await sendOne(server, collector, { ...full('payload'), extra_payload: { secret: 'other hush' } })
    assert.equal(changed.outcome, 'updated')
    const again = await sendOne(server, collector, { ...full('payload'), extra_payload: { secret: 'other hush' } })
    assert.equal(again.outcome, 'unchanged')
    const texts = []
    for (const rest of ['', '/content', `/content?version_id=${version_id}`, '/versions', '/snapshots']) {
      texts.push((await server.consumer(reader, 'GET', `/v1/documents/${document_id}${rest}`)).text)
    }
    texts.push((await server.consumer(reader, 'POST', '/v1/documents/batch-get', { document_ids: [document_id] })).text)
    texts.push((await server.consumer(reader, 'GET', '/v1/changes?limit=200')).text)
    for (const text of texts) assert.doesNotMatch(text, /hush|extra_payload|secret/)
  })
})
