import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { ago, browsePath, Catalog, datasetsOf, dayMs, iso, type Listing, SetBackClock } from './catalog-requests.ts'

const datasets = datasetsOf('windows')
const { forum } = datasets

const minuteMs = 60_000
const timeOf = (text: string | null): number => Date.parse(text!)
const names = (listing: Listing): string[] => listing.documents.map(({ document }) => document.external_id)

/**
 * Documents that arrived 40, 20 and 2 days ago, 23 hours ago and just now. The server's clock was set back for them.
 */
suite('windows of first-ingest time', () => {
  let catalog: Catalog
  const ids: Record<string, string> = {}
  before(async () => {
    const clock = new SetBackClock()
    catalog = await Catalog.start(datasets, clock.env)
    for (const [name, backMs] of [
      ['d40', 40 * dayMs],
      ['d20', 20 * dayMs],
      ['d2', 2 * dayMs],
      ['h23', dayMs - 60 * minuteMs],
      ['now', 0],
    ] as const) {
      clock.backBy(backMs)
      const url = 'https://a.example/shared'
      const author = { external_author_id: 'w', nickname: name }
      const sent = await catalog.send({ [name]: { url, author, published_at: '2020-01-01T00:00:00Z' } })
      ids[name] = sent[0]!
    }
  })

  test('without times: the last 24 hours, said in the answer', async () => {
    const sentAt = Date.now()
    const listing = await catalog.list()
    assert.deepEqual(names(listing), ['now', 'h23'])
    assert.equal(timeOf(listing.created_to) - timeOf(listing.created_from), dayMs)
    assert.ok(Math.abs(timeOf(listing.created_to) - sentAt) < minuteMs)
  })

  test('only created_from: up to now', async () => {
    const listing = await catalog.list({ created_from: ago(3) })
    assert.deepEqual(names(listing), ['now', 'h23', 'd2'])
    assert.ok(Math.abs(timeOf(listing.created_to) - Date.now()) < minuteMs)
    assert.equal(timeOf(listing.created_to) - timeOf(listing.created_from) - 3 * dayMs < minuteMs, true)
  })

  test('only created_to: the 24 hours before it', async () => {
    const end = ago(1.5)
    const listing = await catalog.list({ created_to: end })
    assert.deepEqual(names(listing), ['d2'])
    assert.equal(listing.created_to, end)
    assert.equal(listing.created_from, iso(timeOf(end) - dayMs))
    assert.deepEqual(await catalog.names({ created_to: ago(5) }), [])
  })

  test('the window is half-open to the millisecond', async () => {
    const { documents } = await catalog.list({ query: ids.d20! })
    const at = timeOf(documents[0]!.document.created_at)
    const within = (from: number, to: number) => catalog.names({ created_from: iso(from), created_to: iso(to) })
    assert.deepEqual(await within(at, at + 1), ['d20'])
    assert.deepEqual(await within(at - 1000, at), [])
    assert.deepEqual(await within(at + 1, at + 1000), [])
  })

  test('31 days are allowed, a millisecond more is not', async () => {
    const end = Date.now()
    const window = (lengthMs: number) => ({ created_from: iso(end - lengthMs), created_to: iso(end) })
    assert.deepEqual(await catalog.names(window(31 * dayMs)), ['now', 'h23', 'd2', 'd20'])
    await catalog.refused(window(31 * dayMs + 1), 'created_from')
    await catalog.refused({ created_from: ago(31.01) }, 'created_from')
    assert.equal((await catalog.list({ created_from: iso(Date.now() - 31 * dayMs + 1000) })).documents.length, 4)
  })

  test('longer histories are read in several windows', async () => {
    const end = Date.now() + 1
    const all = [
      ...(await catalog.names({ created_from: iso(end - 31 * dayMs), created_to: iso(end) })),
      ...(await catalog.names({ created_from: iso(end - 62 * dayMs), created_to: iso(end - 31 * dayMs) })),
    ]
    assert.deepEqual(all, ['now', 'h23', 'd2', 'd20', 'd40'])
  })

  test('a start at or after the end is refused, also against now', async () => {
    const at = ago(1)
    await catalog.refused({ created_from: at, created_to: at }, 'created_from')
    await catalog.refused({ created_from: ago(1), created_to: ago(2) }, 'created_from')
    await catalog.refused({ created_from: ago(-1) }, 'created_from')
    await catalog.refused({ published_from: at, published_to: at }, 'published_from')
    await catalog.refused({ published_from: ago(1), published_to: ago(2) }, 'published_from')
  })

  test('a window that lies in the future or before everything is just empty', async () => {
    assert.deepEqual(await catalog.names({ created_from: ago(-1), created_to: ago(-2) }), [])
    assert.deepEqual(
      await catalog.names({ created_from: '1969-12-01T00:00:00Z', created_to: '1969-12-31T00:00:00Z' }),
      [],
    )
    assert.deepEqual(await catalog.names({ created_to: '1000-01-01T00:00:00Z' }), [])
    assert.deepEqual(await catalog.names({ created_to: '9999-12-31T23:59:59Z' }), [])
  })

  test('a cursor fixes the default window', async () => {
    const first = await catalog.list({ limit: 1 })
    assert.deepEqual(names(first), ['now'])
    await catalog.send({ later: {} })
    const second = await catalog.list({ limit: 1, cursor: first.next_cursor! })
    assert.deepEqual(names(second), ['h23'])
    assert.equal(second.created_from, first.created_from)
    assert.equal(second.created_to, first.created_to)
    assert.equal(second.next_cursor, undefined)
    assert.deepEqual(await catalog.names({ limit: 1 }), ['later'])
  })

  test('a window up to now may be paged for as long as it takes', async () => {
    const lengthMs = 31 * dayMs
    const from = Date.now() - lengthMs + 1500
    const first = await catalog.list({ created_from: iso(from), limit: 1 })
    // Until a window computed again would be longer than the limit.
    while (Date.now() - from <= lengthMs + 5) await new Promise((resolve) => setTimeout(resolve, 50))
    const second = await catalog.list({ created_from: iso(from), limit: 1, cursor: first.next_cursor! })
    assert.equal(second.created_to, first.created_to)
    assert.notDeepEqual(names(second), names(first))
  })

  test('an exact lookup needs no window: by id and by URL', async () => {
    const byId = await catalog.list({ query: ids.d40! })
    assert.deepEqual(names(byId), ['d40'])
    assert.equal(byId.created_from, null)
    assert.equal(byId.created_to, null)
    assert.deepEqual(await catalog.names({ query: 'https://a.example/shared' }), ['now', 'h23', 'd2', 'd20', 'd40'])
    assert.deepEqual(await catalog.names({ query: 'https://a.example/Shared' }), [])
    assert.deepEqual(await catalog.names({ query: 'https://a.example/' }), [])
    assert.deepEqual(await catalog.names({ query: 'Title of d40' }), [])
  })

  test('an exact lookup by the platform’s own id only where a platform is given', async () => {
    await catalog.send({ twin: { source_platform: 'rss' } })
    await catalog.send({ twin: { source_platform: 'mastodon', dataset_id: forum } })
    assert.deepEqual(await catalog.names({ query: 'twin' }), [])
    assert.deepEqual(await catalog.names({ query: 'd40', source_platforms: 'rss' }), ['d40'])
    assert.deepEqual(await catalog.names({ query: 'd40', source_platforms: 'mastodon' }), [])
    const twins = await catalog.list({ query: 'twin', source_platforms: 'mastodon,rss' })
    assert.deepEqual(
      twins.documents.map(({ document }) => document.source_platform),
      ['mastodon', 'rss'],
    )
    const path = '/v1/users/rss/w/documents'
    assert.deepEqual(await catalog.names({ query: 'd40' }, catalog.key, path), ['d40'])
  })

  test('an exact lookup with times keeps to them, with conditions to those', async () => {
    const shared = { query: 'https://a.example/shared' }
    const listing = await catalog.list({ ...shared, created_from: ago(3), created_to: ago(1.5) })
    assert.deepEqual(names(listing), ['d2'])
    assert.notEqual(listing.created_from, null)
    assert.deepEqual(await catalog.names({ ...shared, created_to: ago(19.5) }), ['d20'])
    await catalog.refused({ ...shared, created_from: ago(32) }, 'created_from')
    assert.deepEqual(await catalog.names({ ...shared, tags: 'x' }), [])
    assert.deepEqual(await catalog.names({ ...shared, status: 'active', source_platforms: 'rss' }), [
      'now',
      'h23',
      'd2',
      'd20',
      'd40',
    ])
  })

  test('an exact lookup is paged like any other', async () => {
    const pages = await catalog.pages({ query: 'https://a.example/shared', limit: 2 })
    assert.deepEqual(pages.map(names), [['now', 'h23'], ['d2', 'd20'], ['d40']])
    assert.ok(pages.every(({ created_from, created_to }) => created_from === null && created_to === null))
  })

  test('a user: profile and documents keep to the window', async () => {
    const path = '/v1/users/rss/w'
    const profile = async (parameters: Record<string, string>) => (await catalog.get(path, parameters)).body.user
    assert.equal((await profile({})).author.nickname, 'now')
    assert.equal((await profile({ created_to: ago(1.5) })).author.nickname, 'd2')
    assert.equal((await profile({ created_from: ago(25), created_to: ago(5) })).document_id, ids.d20)
    assert.equal((await catalog.get(path, { created_to: ago(5) })).status, 404)
    await catalog.refused({ created_from: ago(32) }, 'created_from', { path })
    await catalog.refused({ created_from: ago(1), created_to: ago(2) }, 'created_from', { path })
    assert.deepEqual(await catalog.names({}, catalog.key, `${path}/documents`), ['now', 'h23'])
    assert.deepEqual(await catalog.names({ created_from: ago(30) }, catalog.key, `${path}/documents`), [
      'now',
      'h23',
      'd2',
      'd20',
    ])
    assert.equal((await catalog.get(browsePath)).status, 200)
  })
})
