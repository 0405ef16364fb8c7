import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { documentsOf, type FeedEvent, feedPage, type Sent, send, sendOne, wholeFeed } from './content.ts'
import { sharedServer, type TestServer } from './harness.ts'
import { operate } from './store-surgery.ts'

/** The feed shows the events that the entitlements opened when each event was written, and names no other field. */
describe('the change feed and the whole entitlement', () => {
  let server: TestServer
  let collector: string
  let datasets = 0
  const plainTypes = 'document.created,document.version.created,document.metrics.updated'
  const event_type = `${plainTypes},document.updated,document.erased`

  before(async () => {
    server = await sharedServer()
    collector = (await server.makeCollector()).key
  })

  /**
   * A dataset with the documents that were sent to it in order, and the feeds of applications that are limited to it.
   */
  async function world(sent: readonly Sent[]) {
    const dataset = `entitled-feed-${datasets++}`
    await server.makeDataset(dataset)
    const document = documentsOf(dataset)
    const put = ({ external_id, ...fields }: Sent) => {
      return sendOne(
        server,
        collector,
        document(String(external_id), { observed_at: '2026-01-01T00:00:00Z', ...fields }),
      )
    }
    const ids = new Map<string, string>()
    for (const one of sent) ids.set((await put(one)).document_id!, String(one.external_id))
    const reader = async (...entries: readonly object[]) => {
      const entitlements = entries.map((entry) => ({ datasets: [dataset], ...entry }))
      return (await server.makeApplication({ entitlements })).key
    }
    const named = ({ event_type: type, document_id, changed_fields }: FeedEvent) =>
      `${ids.get(document_id)} ${type.replace('document.', '')} ${changed_fields}`.trim()
    const feedOf = async (key: string, types = event_type) =>
      (await wholeFeed(server, key, { event_type: types, limit: 3 })).events.map(named)
    return { dataset, put, ids, reader, feedOf, feed: async (...entries: object[]) => feedOf(await reader(...entries)) }
  }

  const base = { title: 'T', body: 'B' }
  const de = { ...base, language: 'de', region: 'DE', published_at: '2026-02-01T00:00:00Z' }
  const en = { ...base, language: 'en', region: 'GB', published_at: '2026-03-01T00:00:00Z' }
  const made = 'title,body,language,region,published_at,observed_at'

  test('language, region and publication time decide as dataset and platform do', async () => {
    const { feed } = await world([
      { external_id: 'a', ...de },
      { external_id: 'b', ...en, source_platform: 'web' },
      { external_id: 'c', ...base },
      { external_id: 'a', ...de, score: 1 },
      { external_id: 'b', ...en, source_platform: 'web', body: 'B2', tags: ['t'] },
      { external_id: 'c', ...base, status: 'unavailable' },
    ])
    const a = [`a created ${made.replace('title,body,', 'title,body,')}`, 'a metrics.updated score']
    const b = [`b created ${made}`, 'b version.created body,tags', 'b updated tags']
    const c = ['c created title,body,observed_at', 'c updated status']
    const together = [a[0], b[0], c[0], a[1], b[1], b[2], c[1]]
    assert.deepEqual(await feed({}), together)
    assert.deepEqual(await feed({ languages: ['de'] }), a)
    assert.deepEqual(
      await feed({ languages: ['de', 'en'] }),
      together.filter((line) => !c.includes(line!)),
    )
    assert.deepEqual(await feed({ regions: ['GB'] }), b)
    assert.deepEqual(await feed({ published_to: '2026-03-01T00:00:00Z' }), a)
    assert.deepEqual(await feed({ published_from: '2026-03-01T00:00:00Z' }), b)
    assert.deepEqual(await feed({ published_from: '2026-03-01T00:00:00.001Z' }), [])
    assert.deepEqual(await feed({ languages: ['de'], regions: ['GB'] }), [])
    assert.deepEqual(
      await feed({ languages: ['de'], platforms: ['web'] }, { languages: ['en'], platforms: ['web'] }),
      b,
    )
  })

  test('only fields that may be read are named, and nothing is sent of which none remains', async () => {
    const facts = [{ kind: 'category', level: 'document', metadata: { label_code: 'x' } }]
    const full = { ...base, author: { nickname: 'N' }, tags: ['t'], topics: ['p'], facts, score: 1, quality: 0.5 }
    const { feed } = await world([
      { external_id: 'a', ...full },
      { external_id: 'a', ...full, score: 2, metrics: { likes: 1 } },
      { external_id: 'a', ...full, score: 2, title: 'T2', quality: 0.7, author: { nickname: 'M' } },
      { external_id: 'a', ...full, score: 2, title: 'T2', author: { nickname: 'M' }, tags: ['u'], facts: null },
      {
        external_id: 'a',
        ...full,
        score: 2,
        title: 'T2',
        author: { nickname: 'M' },
        tags: ['u'],
        facts: null,
        status: 'unavailable',
      },
    ])
    const all = [
      'a created title,body,author,topics,tags,observed_at,facts,score',
      'a metrics.updated score,metrics',
      'a version.created title,author',
      'a updated author',
      'a updated tags,classifications',
      'a updated status',
    ]
    assert.deepEqual(await feed({}), all)
    assert.deepEqual(await feed({ fields: ['title'] }), [
      'a created title,observed_at',
      'a version.created title',
      'a updated status',
    ])
    assert.deepEqual(await feed({ fields: ['author'] }), [
      'a created author,observed_at',
      'a version.created author',
      'a updated author',
      'a updated status',
    ])
    assert.deepEqual(await feed({ fields: ['body', 'metadata'] }), [
      'a created body,author,topics,tags,observed_at',
      'a version.created author',
      'a updated author',
      'a updated tags',
      'a updated status',
    ])
    assert.deepEqual(await feed({ fields: ['body', 'facts'] }), [
      'a created body,observed_at,facts',
      'a version.created',
      'a updated classifications',
      'a updated status',
    ])
    assert.deepEqual(await feed({ fields: ['metrics'] }), [
      'a created observed_at,score',
      'a metrics.updated score,metrics',
      'a version.created',
      'a updated status',
    ])
  })

  test('each entry opens fields of its own documents alone', async () => {
    const { feed } = await world([
      { external_id: 'a', ...de },
      { external_id: 'b', ...en },
      { external_id: 'a', ...de, score: 1 },
      { external_id: 'b', ...en, score: 1 },
    ])
    const lines = await feed(
      { languages: ['de'], fields: ['title', 'metrics'] },
      { languages: ['en'], fields: ['body'] },
    )
    assert.deepEqual(lines, [
      `a created ${made.replace('body,', '')}`,
      `b created ${made.replace('title,', '')}`,
      'a metrics.updated score',
    ])
    const both = await feed({ languages: ['de'], fields: ['title'] }, { regions: ['DE'], fields: ['metrics'] })
    assert.deepEqual(both, [`a created ${made.replace('body,', '')}`, 'a metrics.updated score'])
  })

  test('without metrics an update of them is one of observed_at, where that moved and is asked for', async () => {
    const { feed, feedOf, reader } = await world([
      { external_id: 'a', ...base },
      { external_id: 'a', ...base, observed_at: '2026-01-02T00:00:00Z', score: 1 },
      { external_id: 'a', ...base, observed_at: '2026-01-03T00:00:00Z', score: 2, tags: ['t'] },
    ])
    const created = 'a created title,body,observed_at'
    assert.deepEqual(await feed({}), [
      created,
      'a metrics.updated score',
      'a metrics.updated score',
      'a updated tags,observed_at',
    ])
    const key = await reader({ fields: ['title', 'body'] })
    assert.deepEqual(await feedOf(key), [created, 'a updated observed_at', 'a updated observed_at'])
    assert.deepEqual(await feedOf(key, plainTypes), [created])
    assert.deepEqual(await feedOf(key, 'document.metrics.updated'), [])
    assert.deepEqual(await feedOf(key, 'document.updated'), ['a updated observed_at', 'a updated observed_at'])
  })

  test('who loses a document is told that, and nothing of what it has become', async () => {
    const { feed } = await world([
      { external_id: 'a', ...de },
      { external_id: 'a', ...de, language: 'en', title: 'T2', tags: ['t'], score: 5 },
      { external_id: 'a', ...de, language: 'en', title: 'T3', tags: ['t'], score: 6 },
      {
        external_id: 'a',
        ...de,
        language: 'en',
        title: 'T3',
        tags: ['t'],
        score: 6,
        region: 'GB',
        published_at: en.published_at,
      },
    ])
    const german = [`a created ${made}`, 'a updated language']
    assert.deepEqual(await feed({ languages: ['de'] }), german)
    const last = 'a updated region,published_at'
    const entering = ['a version.created title,language,tags', 'a metrics.updated score', 'a updated language,tags']
    const later = ['a version.created title', 'a metrics.updated score', last]
    assert.deepEqual(await feed({ languages: ['en'] }), [...entering, ...later])
    assert.deepEqual(await feed({ regions: ['DE'] }), [german[0], ...entering, ...later])
    assert.deepEqual(await feed({ regions: ['GB'] }), [last])
    assert.deepEqual(await feed({ published_to: en.published_at }), [german[0], ...entering, ...later])
    assert.deepEqual(await feed({ published_from: en.published_at }), [last])
    assert.deepEqual(await feed({ languages: ['de'], regions: ['GB'] }), [], 'it was never in both at once')
    assert.deepEqual(await feed({ languages: ['de'] }, { regions: ['GB'], fields: ['body'] }), [...german, last])
  })

  test('an erasure is told to readers of the document and of its earlier texts, once', async () => {
    const { feed, ids } = await world([
      { external_id: 'a', ...de },
      { external_id: 'a', ...de, language: 'en', title: 'T2' },
      { external_id: 'b', ...de },
      { external_id: 'b', ...de, language: 'en', title: 'T2' },
      { external_id: 'b', ...de, language: 'fr', title: 'T3' },
    ])
    const erased = async (...entries: object[]) =>
      (await feed(...entries)).filter((line) => line.includes('erased')).sort()
    for (const id of ids.keys()) await server.mustAdmin('DELETE', `/admin/v1/documents/${id}`)
    const both = ['a erased', 'b erased']
    assert.deepEqual(await erased({ languages: ['de'] }), both)
    assert.deepEqual(await erased({ languages: ['en'] }), both)
    assert.deepEqual(await erased({ languages: ['fr'] }), ['b erased'])
    assert.deepEqual(await erased({ languages: ['it'] }), [])
    assert.deepEqual(await erased({ regions: ['GB'] }), [])
    assert.deepEqual(await erased({ languages: ['de', 'en'] }), both)
  })

  test('a page is the same when it is read again, whatever its documents have become', async () => {
    const { put, reader } = await world([
      { external_id: 'a', ...de },
      { external_id: 'b', ...en },
      { external_id: 'c', ...de },
    ])
    const german = await reader({ languages: ['de'], fields: ['body'] })
    const start = (await feedPage(server, german, { event_type, limit: 1 })).next_cursor
    const page = await feedPage(server, german, { event_type, cursor: start })
    assert.equal(page.items.length, 1)
    await put({ external_id: 'b', ...de })
    await put({ external_id: 'c', ...en })
    const again = await feedPage(server, german, { event_type, cursor: start, limit: 1 })
    assert.deepEqual(again.items, page.items)
  })

  test('events of an earlier version are judged by the document as it is now, and by its kind', async () => {
    const { dataset, put, ids, feed } = await world([
      { external_id: 'a', ...de },
      { external_id: 'b', ...en, quality: 0.5 },
      { external_id: 'gone', ...en },
      { external_id: 'a', ...de, score: 1 },
    ])
    const gone = [...ids].find(([, name]) => name === 'gone')![0]
    await server.mustAdmin('DELETE', `/admin/v1/documents/${gone}`)
    const columns = [
      'opened_by',
      'language',
      'region',
      'published_at',
      'language_before',
      'region_before',
      'published_before',
    ]
    const nothing = columns.map((name) => `${name} = null`).join()
    await operate(server, `update event set ${nothing} where dataset_id = '${dataset}'`)
    await put({ external_id: 'b', ...de, status: 'unavailable' })
    const a = [`a created ${made}`, 'a metrics.updated score']
    const b = [`b created ${made}`, 'b updated language,region,status,published_at']
    const left = 'gone erased'
    assert.deepEqual(await feed({ languages: ['de'] }), [a[0], b[0], a[1], left, b[1]])
    assert.deepEqual(await feed({ languages: ['en'] }), [left, 'b updated language,region,published_at'])
    const text = ['title', 'body']
    assert.deepEqual(await feed({ languages: ['de'], fields: text }), [a[0], b[0], 'a updated observed_at', left, b[1]])
    const { feed: elsewhere } = await world([])
    assert.deepEqual(await elsewhere({}), [])
  })

  test('a wait is not ended by events that the application may not read', async () => {
    const { dataset, reader, put, ids } = await world([{ external_id: 'a', ...de }])
    const german = await reader({ languages: ['de'], fields: ['title'] })
    const { cursor } = await wholeFeed(server, german, { event_type })
    const waiting = feedPage(server, german, { event_type, cursor, wait: 30 })
    const hidden = Array.from({ length: 50 }, (_, i) => documentsOf(dataset)(`hidden ${i}`, { language: 'en' }))
    for (let i = 0; i < 5; i++)
      await send(
        server,
        collector,
        hidden.map((one) => ({ ...one, score: i })),
      )
    await put({ external_id: 'a', ...de, score: 1 })
    const { document_id } = await put({ external_id: 'z', ...de })
    ids.set(document_id!, 'z')
    const { items } = await waiting
    assert.deepEqual(
      items.map((one) => one.document_id),
      [document_id],
    )
  })
})
