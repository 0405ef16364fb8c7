import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { documentOf, type FeedEvent, feedAnswer, feedPage, send, wholeFeed } from './content.ts'
import { startServer, type TestServer } from './harness.ts'

/** The feed as an application reads it: filters, cursors, entitlements and usage. */
describe('the change feed', () => {
  let server: TestServer
  let collector: string
  let all: string
  let events: FeedEvent[]
  const datasets = ['news', 'blogs', 'forums']
  const platforms = ['rss', 'web', 'app']
  const plainTypes = 'document.created,document.version.created,document.metrics.updated'
  /** A time between the two halves of the content, for filters by ingest time. */
  let middle: string

  after(() => server.stop())
  before(async () => {
    server = await startServer()
    for (const dataset of datasets) await server.makeDataset(dataset)
    collector = (await server.makeCollector()).key
    all = await keyFor([{ datasets }])
    const content = (score: number) =>
      Array.from({ length: 90 }, (_, i) =>
        documentOf(`d${i}`, { dataset_id: datasets[i % 3], source_platform: platforms[Math.floor(i / 3) % 3], score }),
      )
    await send(server, collector, content(1))
    // Server and test share a clock. The halves are further apart than its resolution.
    await new Promise((resolve) => setTimeout(resolve, 10))
    middle = new Date().toISOString()
    await new Promise((resolve) => setTimeout(resolve, 10))
    await send(
      server,
      collector,
      content(2).map((one, i) => (i % 2 === 0 ? { ...one, body: 'Changed' } : one)),
    )
    events = (await wholeFeed(server, all)).events
  })

  const keyFor = async (entitlements: readonly object[], policy: object = {}): Promise<string> =>
    (await server.makeApplication({ entitlements, policy })).key

  /** Reads all pages with the given page size. */
  async function collect(
    key: string,
    parameters: Record<string, string | number>,
    limit: number,
  ): Promise<FeedEvent[]> {
    return (await wholeFeed(server, key, { ...parameters, limit })).events
  }

  test('every event once, in order, in pages of any size', async () => {
    assert.equal(events.length, 90 + 90 + 45)
    for (const limit of [1, 7, 100, 200]) assert.deepEqual(await collect(all, {}, limit), events)
    events.forEach((event, i) => {
      if (i > 0) assert.ok(event.sequence > events[i - 1]!.sequence)
    })
    assert.equal(new Set(events.map((event) => event.event_id)).size, events.length)
    assert.equal((await feedPage(server, all)).items.length, 100)
  })

  test('filters: values of one are OR-ed, different ones AND-ed', async () => {
    const cases: [Record<string, string>, (event: FeedEvent) => boolean][] = [
      [{ event_type: 'document.created' }, (one) => one.event_type === 'document.created'],
      [
        { event_type: 'document.version.created,document.metrics.updated' },
        (one) => one.event_type !== 'document.created',
      ],
      [{ dataset_id: 'news,blogs' }, (one) => one.dataset_id !== 'forums'],
      [{ source_platform: 'web' }, (one) => one.source_platform === 'web'],
      [
        { dataset_id: 'news,forums', source_platform: 'web,app', event_type: 'document.metrics.updated' },
        (one) =>
          one.dataset_id !== 'blogs' && one.source_platform !== 'rss' && one.event_type === 'document.metrics.updated',
      ],
      [{ ingested_from: middle }, (one) => one.ingested_at >= middle],
      [{ ingested_to: middle }, (one) => one.ingested_at < middle],
      [{ ingested_from: events[0]!.ingested_at, ingested_to: middle }, (one) => one.ingested_at < middle],
      [{ ingested_from: '2999-01-01T00:00:00Z' }, () => false],
    ]
    for (const [filter, matches] of cases) {
      const expected = events.filter(matches)
      for (const limit of [3, 200]) {
        assert.deepEqual(await collect(all, filter, limit), expected, JSON.stringify(filter))
      }
    }
  })

  test('a filter that excludes everything still moves the cursor on', async () => {
    const nothing = { event_type: 'document.created', ingested_from: middle }
    const { items, next_cursor } = await feedPage(server, all, nothing)
    assert.deepEqual(items, [])
    const again = await feedPage(server, all, { ...nothing, cursor: next_cursor })
    assert.deepEqual(again.items, [])
    await send(server, collector, [documentOf('moves-on')])
    const later = await feedPage(server, all, { ...nothing, cursor: next_cursor })
    assert.equal(later.items.length, 1)
    events.push(...later.items)
  })

  test('changes beside text and metrics are for readers that name their type; others see what they saw', async () => {
    const updates = { event_type: 'document.updated' }
    const every = { event_type: `${plainTypes},document.updated,document.erased` }
    const start = (await wholeFeed(server, all)).cursor
    const before = (await wholeFeed(server, all, every)).events
    const content = (fields: object) =>
      Array.from({ length: 9 }, (_, i) => documentOf(`u${i}`, { observed_at: '2026-01-01T00:00:00Z', ...fields }))
    await send(server, collector, content({}))
    await send(server, collector, content({ tags: ['a'], status: 'unavailable' }))
    await send(
      server,
      collector,
      content({ tags: ['a'], status: 'unavailable', title: 'New', author: { nickname: 'N' } }),
    )
    const plain = (await wholeFeed(server, all, { cursor: start, limit: 4 })).events
    assert.deepEqual(
      plain.map((one) => `${one.event_type} ${one.changed_fields}`),
      [
        ...Array<string>(9).fill('document.created title,body,observed_at'),
        ...Array<string>(9).fill('document.version.created title,author'),
      ],
    )
    const seen = (await wholeFeed(server, all, { ...every, limit: 7 })).events
    assert.deepEqual(
      seen.filter(({ event_type }) => event_type !== 'document.updated'),
      [...before, ...plain],
    )
    const named = await collect(all, updates, 5)
    assert.deepEqual(
      named,
      seen.filter(({ event_type }) => event_type === 'document.updated'),
    )
    assert.deepEqual(
      named.map((one) => one.changed_fields.join()),
      [...Array<string>(9).fill('status,tags'), ...Array<string>(9).fill('author')],
    )
    assert.ok(named.every((one) => !('version_id' in one)))
    // A page stays full although other events were written between its events.
    assert.deepEqual((await feedPage(server, all, { cursor: start, limit: 18 })).items, plain)
    events.push(...plain)
  })

  test('a first read may start behind the latest event', async () => {
    const filter = { dataset_id: 'news', event_type: 'document.created,document.updated' }
    const { items, next_cursor: cursor } = await feedPage(server, all, { ...filter, start: 'latest', wait: 30 })
    assert.deepEqual(items, [])
    assert.deepEqual((await feedPage(server, all, { ...filter, cursor })).items, [])
    const [sent] = await send(server, collector, [documentOf('from now on')])
    const after = await feedPage(server, all, { ...filter, cursor })
    assert.deepEqual(
      after.items.map((one) => one.document_id),
      [sent!.document_id],
    )
    events.push(...after.items)
    assert.deepEqual((await feedPage(server, all, { start: 'earliest' })).items, events.slice(0, 100))
    const both = await feedAnswer(server, all, { cursor, ...filter, start: 'earliest' })
    assert.deepEqual([both.status, both.body.code, both.body.details[0].path], [400, 'invalid_changes_query', 'start'])
  })

  test('one entitlement entry must allow both the dataset and the platform', async () => {
    const key = await keyFor([
      { datasets: ['news'], platforms: ['rss'] },
      { datasets: ['blogs'], platforms: ['web', 'app'] },
    ])
    const allowed = (one: FeedEvent) =>
      (one.dataset_id === 'news' && one.source_platform === 'rss') ||
      (one.dataset_id === 'blogs' && one.source_platform !== 'rss')
    assert.deepEqual(await collect(key, {}, 50), events.filter(allowed))
    assert.deepEqual(
      await collect(key, { dataset_id: 'news,blogs', source_platform: 'rss,web' }, 50),
      events.filter((one) => allowed(one) && one.source_platform !== 'app'),
    )
    assert.deepEqual(
      await collect(key, { dataset_id: 'blogs' }, 50),
      events.filter((one) => allowed(one) && one.dataset_id === 'blogs'),
    )
    for (const outside of [
      { dataset_id: 'forums' },
      { dataset_id: 'news,forums' },
      { dataset_id: 'news', source_platform: 'web' },
      { dataset_id: 'news', source_platform: 'rss,web' },
      { dataset_id: 'nowhere' },
      { source_platform: 'telegraph' },
    ]) {
      const answer = await feedAnswer(server, key, outside)
      assert.equal(answer.status, 403, JSON.stringify(outside))
      const [only, ...others] = Object.keys(outside)
      if (others.length === 0) assert.equal(answer.body.details[0].path, only)
      assert.equal(answer.body.code, 'entitlement_denied')
    }
    assert.equal((await feedAnswer(server, await keyFor([]))).status, 403)
  })

  test('a cursor is bound to every filter and to the application, not to the limit', async () => {
    const filter = { dataset_id: 'news,blogs', event_type: 'document.created' }
    const first = await feedPage(server, all, { ...filter, limit: 5 })
    const cursor = first.next_cursor
    const expected = events.filter((one) => one.dataset_id !== 'forums' && one.event_type === 'document.created')
    for (const limit of [1, 2, 50, 200]) {
      const page = await feedPage(server, all, { ...filter, limit, cursor })
      assert.deepEqual(page.items, expected.slice(5, 5 + limit))
      assert.deepEqual((await feedPage(server, all, { ...filter, limit, cursor, wait: 0 })).items, page.items)
    }
    const others: Record<string, string>[] = [
      { event_type: 'document.created' },
      { dataset_id: 'news,blogs' },
      { ...filter, dataset_id: 'news' },
      { ...filter, dataset_id: 'news,blogs,forums' },
      { ...filter, source_platform: 'rss' },
      { ...filter, ingested_from: '2001-01-01T00:00:00Z' },
      { ...filter, ingested_to: '2999-01-01T00:00:00Z' },
      {},
    ]
    for (const other of others) {
      const answer = await feedAnswer(server, all, { ...other, cursor })
      assert.equal(answer.status, 400, JSON.stringify(other))
      assert.equal(answer.body.code, 'invalid_cursor')
      assert.equal(answer.body.details[0].path, 'cursor')
    }
    const stranger = await keyFor([{ datasets }])
    const theirs = await feedAnswer(server, stranger, { ...filter, cursor })
    assert.equal(theirs.status, 400)
    assert.equal(theirs.body.code, 'invalid_cursor')
  })

  test('another key of the same application goes on with its cursor', async () => {
    const { applicationId, key } = await server.makeApplication({ entitlements: [{ datasets }] })
    const { next_cursor: cursor } = await feedPage(server, key, { limit: 10 })
    const second = await server.makeKey(applicationId)
    assert.deepEqual((await feedPage(server, second.key, { limit: 10, cursor })).items, events.slice(10, 20))
  })

  test('any altered cursor is 400', async () => {
    const { next_cursor: cursor } = await feedPage(server, all, { limit: 10 })
    const altered = new Set<string>(['', '.', 'x', `${cursor}.`, `.${cursor}`, `${cursor} `, cursor.toUpperCase()])
    const letters = 'A0_-z.=%\u00e9 '
    for (let i = 0; i < cursor.length; i += 5) {
      const letter = letters[i % letters.length]!
      altered.add(cursor.slice(0, i) + letter + cursor.slice(i + 1))
      altered.add(cursor.slice(0, i) + letter + cursor.slice(i))
      altered.add(cursor.slice(0, i) + cursor.slice(i + 1))
      altered.add(cursor.slice(0, i) + (cursor[i + 1] ?? '') + cursor[i]! + cursor.slice(i + 2))
    }
    altered.add(cursor.repeat(100))
    altered.delete(cursor)
    for (const one of altered) {
      const answer = await feedAnswer(server, all, { cursor: one })
      assert.equal(answer.status, 400, one)
      assert.equal(answer.body.code, 'invalid_cursor', one)
    }
    assert.deepEqual((await feedPage(server, all, { cursor, limit: 10 })).items, events.slice(10, 20))
  })

  test('replaying a cursor gives the same page, also after more was written', async () => {
    const { next_cursor: cursor } = await feedPage(server, all, { limit: 20 })
    const page = await feedPage(server, all, { limit: 20, cursor })
    await send(server, collector, [documentOf('replayed')])
    const again = await feedPage(server, all, { limit: 20, cursor })
    assert.deepEqual(again.items, page.items)
    assert.deepEqual(
      (await feedPage(server, all, { limit: 20, cursor: again.next_cursor })).items,
      (await feedPage(server, all, { limit: 20, cursor: page.next_cursor })).items,
    )
  })

  test('the cursor at the end stays good', async () => {
    const { cursor } = await wholeFeed(server, all)
    for (let i = 0; i < 3; i++) {
      const page = await feedPage(server, all, { cursor })
      assert.deepEqual(page.items, [])
      assert.deepEqual((await feedPage(server, all, { cursor: page.next_cursor })).items, [])
    }
    await send(server, collector, [documentOf('later')])
    assert.equal((await feedPage(server, all, { cursor })).items.length, 1)
    assert.equal((await feedPage(server, all, { cursor })).items.length, 1)
  })

  test('bad parameters are 400, each with its path', async () => {
    const bad: [string, string][] = [
      ['limit=0', 'limit'],
      ['limit=201', 'limit'],
      ['limit=ten', 'limit'],
      ['limit=1.5', 'limit'],
      ['limit=0x10', 'limit'],
      ['limit=1e1', 'limit'],
      ['wait=31', 'wait'],
      ['wait=-1', 'wait'],
      ['start=now', 'start'],
      ['event_type=document.deleted', 'event_type'],
      ['event_type=', 'event_type'],
      ['dataset_id=news,,blogs', 'dataset_id'],
      ['source_platform=,', 'source_platform'],
      ['ingested_from=yesterday', 'ingested_from'],
      ['ingested_from=2026-01-02T00:00:00Z&ingested_to=2026-01-01T00:00:00Z', 'ingested_to'],
      ['since=5', 'since'],
      ['limit=5&limit=6', 'limit'],
      ['dataset_id=news&dataset_id=blogs', 'dataset_id'],
    ]
    for (const [query, path] of bad) {
      const answer = await server.consumer(all, 'GET', `/v1/changes?${query}`)
      assert.equal(answer.status, 400, query)
      assert.equal(answer.body.code, 'invalid_changes_query', query)
      assert.equal(answer.body.details[0].path, path, query)
    }
    assert.equal((await server.consumer(collector, 'GET', '/v1/changes')).status, 401)
  })

  test('a unit of the daily quota is taken by answered requests alone', async () => {
    const key = await keyFor([{ datasets: ['news'] }], { daily_quotas: { changes: 3 } })
    const used = async () => (await server.consumer(key, 'GET', '/v1/account')).body.usage?.['changes.read'] ?? 0
    const refused: Record<string, string | number>[] = [{ limit: 0 }, { cursor: 'x' }, { dataset_id: 'blogs' }]
    for (const one of refused) assert.ok([400, 403].includes((await feedAnswer(server, key, one)).status))
    assert.equal(await used(), 0)
    const statuses = []
    for (let i = 0; i < 5; i++) statuses.push((await feedAnswer(server, key)).status)
    assert.deepEqual(statuses, [200, 200, 200, 429, 429])
    const over = await feedAnswer(server, key)
    assert.equal(over.body.code, 'quota_exceeded')
    assert.ok(Number(over.headers.get('retry-after')) > 0)
    // Wrong requests still get errors that name the fault.
    assert.equal((await feedAnswer(server, key, { cursor: 'x' })).status, 400)
  })
})
