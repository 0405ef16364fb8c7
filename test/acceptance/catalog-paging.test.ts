import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { Catalog, datasetsOf, type Parameters } from './catalog-requests.ts'
import type { Sent } from './content.ts'

const datasets = datasetsOf('paging')
const { news, forum } = datasets

suite('pages of a listing', () => {
  let catalog: Catalog
  let sent: string[]
  before(async () => {
    catalog = await Catalog.start(datasets)
    const batch = (from: number): Record<string, Sent> =>
      Object.fromEntries(
        Array.from({ length: 125 }, (_, i) => {
          const n = from + i
          return [`n${n}`, { tags: n % 2 === 0 ? ['even'] : ['odd'], dataset_id: n % 3 === 0 ? forum : news, score: n }]
        }),
      )
    sent = [...(await catalog.send(batch(0))), ...(await catalog.send(batch(125)))]
  })
  const idsOf = (pages: Awaited<ReturnType<Catalog['pages']>>) =>
    pages.flatMap(({ documents }) => documents.map(({ document }) => document.id))
  const newestFirst = (ids: readonly string[]) => [...ids].sort().reverse()

  test('newest first-ingest time first, then the larger id, over every page to the end', async () => {
    for (const limit of [1, 7, 50, 125, 200]) {
      const parameters = limit === 1 ? { score_max: 9, limit } : { limit }
      const pages = await catalog.pages(parameters)
      assert.deepEqual(idsOf(pages), newestFirst(limit === 1 ? sent.slice(0, 10) : sent))
      assert.ok(pages.slice(0, -1).every(({ documents }) => documents.length === limit))
      const items = pages.flatMap(({ documents }) => documents)
      for (const [i, { document }] of items.entries()) {
        const next = items[i + 1]?.document
        if (next === undefined) break
        assert.ok(
          document.created_at > next.created_at || (document.created_at === next.created_at && document.id > next.id),
        )
      }
    }
  })

  test('a page that is exactly full at the end has no next cursor', async () => {
    const pages = await catalog.pages({ limit: 125 })
    assert.equal(pages.length, 2)
    assert.ok(!('next_cursor' in pages[1]!))
    assert.ok(!('total' in pages[0]!))
  })

  test('limit is 50 when absent, 1 at the least and 200 at the most', async () => {
    assert.equal((await catalog.list()).documents.length, 50)
    assert.equal((await catalog.list({ limit: 1 })).documents.length, 1)
    assert.equal((await catalog.list({ limit: 200 })).documents.length, 200)
    for (const limit of [0, -1, 201, 1.5, 'ten', '', ' ', 'NaN']) await catalog.refused({ limit }, 'limit')
  })

  test('pages with conditions find every document once', async () => {
    const pages = await catalog.pages({ tags: 'even', dataset_id: forum, score_min: 20, limit: 7 })
    const wanted = sent.filter((_, n) => n % 2 === 0 && n % 3 === 0 && n >= 20)
    assert.deepEqual(idsOf(pages), newestFirst(wanted))
  })

  test('the same cursor gives the same page again', async () => {
    const { next_cursor } = await catalog.list({ limit: 5 })
    const again = { limit: 5, cursor: next_cursor! }
    assert.deepEqual((await catalog.list(again)).documents, (await catalog.list(again)).documents)
  })

  test('a cursor belongs to its parameters, unchanged', async () => {
    const base: Parameters = { tags: 'even,odd', limit: 5 }
    const cursor = (await catalog.list(base)).next_cursor!
    assert.equal((await catalog.list({ ...base, cursor })).documents.length, 5)
    const now = new Date().toISOString()
    const changes: Parameters[] = [
      { tags: 'even' },
      { tags: 'odd,even' },
      { limit: 6 },
      { dataset_id: news },
      { source_platforms: 'rss' },
      { source_platforms: 'rss', external_author_id: 'a' },
      { topics: 't' },
      { classification_codes: 'c' },
      { score_min: 0 },
      { score_max: 1000 },
      { content_types: 'x' },
      { published_from: now },
      { published_to: now },
      { created_from: new Date(Date.now() - 3_600_000).toISOString() },
      { created_to: now },
      { include_snapshot: true },
      { status: 'active' },
      { query: sent[0]! },
    ]
    for (const change of changes) await catalog.refused({ ...base, ...change, cursor }, 'cursor')
    const { tags: _tags, ...withoutTags } = base
    await catalog.refused({ ...withoutTags, cursor }, 'cursor')
    // Sending the default explicitly is no change.
    assert.equal((await catalog.list({ ...base, include_snapshot: false, cursor })).documents.length, 5)
  })

  test('explicit times cannot change while paging', async () => {
    const base = { created_from: new Date(Date.now() - 3_600_000).toISOString(), limit: 5 }
    const cursor = (await catalog.list(base)).next_cursor!
    await catalog.refused({ ...base, created_from: new Date().toISOString(), cursor }, 'cursor')
    await catalog.refused({ limit: 5, cursor }, 'cursor')
    await catalog.list({ ...base, cursor })
  })

  test('a cursor belongs to its application, and to any key of it', async () => {
    const entitlements = [{ datasets: [news, forum] }]
    const { applicationId, key } = await catalog.server.makeApplication({ entitlements })
    const cursor = (await catalog.list({ limit: 5 }, key)).next_cursor!
    const { key: second } = await catalog.server.makeKey(applicationId)
    assert.equal((await catalog.list({ limit: 5, cursor }, second)).documents.length, 5)
    await catalog.refused({ limit: 5, cursor }, 'cursor')
  })

  test('a cursor that was tampered with, cut, or never issued is refused', async () => {
    const cursor = (await catalog.list({ limit: 5 })).next_cursor!
    const [payload, signature] = cursor.split('.') as [string, string]
    const position = JSON.parse(Buffer.from(payload, 'base64url').toString())
    position[3] = { ...position[3], before: 'doc_zzzzzzzzzz', from: null }
    const forged = `${Buffer.from(JSON.stringify(position)).toString('base64url')}.${signature}`
    const bad = [forged, payload, `${payload}.`, `.${signature}`, cursor.slice(0, -1), `${cursor}A`, `${cursor}.x`]
    for (const one of [...bad, 'x', '', 'null', '0', 'a'.repeat(5000), '%', sent[0]!]) {
      await catalog.refused({ limit: 5, cursor: one }, 'cursor')
    }
    const feed = (await catalog.get('/v1/changes')).body.next_cursor
    await catalog.refused({ limit: 5, cursor: feed }, 'cursor')
  })

  test('a cursor outlives a restart', async () => {
    const first = await catalog.list({ limit: 120 })
    await catalog.server.restart()
    const second = await catalog.list({ limit: 120, cursor: first.next_cursor! })
    const third = await catalog.list({ limit: 120, cursor: second.next_cursor! })
    assert.deepEqual(idsOf([first, second, third]), newestFirst(sent))
  })

  test('a narrowed entitlement narrows the pages that follow', async () => {
    const { applicationId, key } = await catalog.server.makeApplication({
      entitlements: [{ datasets: [news, forum] }],
    })
    const first = await catalog.list({ limit: 5 }, key)
    await catalog.server.mustAdmin('PUT', `/admin/v1/applications/${applicationId}/entitlements`, {
      entitlements: [{ datasets: [forum] }],
    })
    const second = await catalog.list({ limit: 5, cursor: first.next_cursor! }, key)
    assert.ok(second.documents.every(({ document }) => document.dataset_id === forum))
  })
})
