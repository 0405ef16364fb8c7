import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { fieldPermissions, namesOpenTo, sampleValues } from '../support/document-fields.ts'
import { documentsOf, type Result, send, sendOne } from './content.ts'
import { sharedServer, type TestServer } from './harness.ts'

const news = 'documents-news'
const hiddenDataset = 'documents-hidden'
const documentOf = documentsOf(news)

/** The reads that follow the change feed, limited to the entitlements of each application. */
describe('document reads', () => {
  let server: TestServer
  let collector: string
  let all: string
  let one: Result
  let german: Result

  before(async () => {
    server = await sharedServer()
    await server.makeDataset(news)
    await server.makeDataset(hiddenDataset)
    collector = (await server.makeCollector()).key
    all = await keyFor([{ datasets: [news] }])
    one = await sendOne(
      server,
      collector,
      documentOf('one', {
        ...sampleValues('name'),
        language: 'en',
        region: 'GB',
        published_at: '2026-03-01T00:00:00Z',
        author: { external_author_id: 'u1', nickname: 'Nick', extra: { nickname: 'Not this', city: 'Hull', age: 9 } },
        score: 5,
        metrics: { likes: 3 },
        facts: [{ kind: 'category', metadata: { label_code: 'nature' } }],
      }),
    )
    german = await sendOne(server, collector, documentOf('german', { language: 'de', score: 1 }))
  })

  const keyFor = async (entitlements: readonly object[]): Promise<string> =>
    (await server.makeApplication({ entitlements })).key
  const get = (key: string, id: string | undefined, rest = '') =>
    server.consumer(key, 'GET', `/v1/documents/${id}${rest}`)
  const batch = (key: string, document_ids: unknown) =>
    server.consumer(key, 'POST', '/v1/documents/batch-get', { document_ids })

  test('a document with every field', async () => {
    const { status, body } = await get(all, one.document_id)
    assert.equal(status, 200)
    const { created_at, observed_at, snapshot, ...rest } = body
    assert.equal(created_at, observed_at)
    assert.match(snapshot.snapshot_id, /^snp_/)
    assert.deepEqual(snapshot, { ...snapshot, observed_at, score: 5, metrics: { likes: 3 } })
    assert.deepEqual(rest, {
      ...sampleValues('name'),
      id: one.document_id,
      dataset_id: news,
      source_platform: 'rss',
      external_id: 'one',
      title: 'Title of one',
      language: 'en',
      region: 'GB',
      status: 'active',
      current_version_id: one.version_id,
      published_at: '2026-03-01T00:00:00.000Z',
      author: {
        external_author_id: 'u1',
        nickname: 'Nick',
        avatar_url: null,
        home_page: null,
        biography: null,
        follower_count: null,
        following_count: null,
        verified: null,
        city: 'Hull',
        age: 9,
      },
      classifications: ['nature'],
      score: 5,
      version_count: 1,
    })
  })

  test('each field permission opens its fields and nothing else', async () => {
    for (const permission of fieldPermissions) {
      const key = await keyFor([{ datasets: [news], fields: [permission] }])
      const { body: document } = await get(key, one.document_id)
      const expected = [...namesOpenTo(permission), 'version_count', 'snapshot'].sort()
      assert.deepEqual(Object.keys(document).sort(), expected, permission)
      assert.equal(document.snapshot !== null, permission === 'metrics')

      const content = await get(key, one.document_id, '/content')
      if (permission === 'body') {
        assert.equal(content.status, 200)
        assert.equal(content.body.body, 'Body of one')
        assert.equal('title' in content.body, false)
      } else {
        assert.equal(content.status, 403)
        assert.equal(content.body.code, 'entitlement_denied')
      }
      const snapshots = await get(key, one.document_id, '/snapshots')
      assert.equal(snapshots.status, permission === 'metrics' ? 200 : 403)
      const { body: versions } = await get(key, one.document_id, '/versions')
      assert.equal('title' in versions.versions[0], permission === 'title')
      const { body: got } = await batch(key, [one.document_id])
      assert.deepEqual(Object.keys(got.documents[0]).sort(), [...namesOpenTo(permission), 'content'].sort())
      assert.deepEqual(
        got.documents[0].content,
        permission === 'body' ? { version_id: one.version_id, body: 'Body of one' } : null,
      )
    }
  })

  test('the fields of a document are those of the entries that match it', async () => {
    const key = await keyFor([
      { datasets: [news], languages: ['en'], fields: ['title'] },
      { datasets: [news], platforms: ['rss'], fields: ['metrics'] },
      { datasets: [hiddenDataset], fields: fieldPermissions },
    ])
    const english = (await get(key, one.document_id)).body
    assert.equal(english.title, 'Title of one')
    assert.equal(english.score, 5)
    assert.equal('author' in english, false)
    const other = (await get(key, german.document_id)).body
    assert.equal('title' in other, false)
    assert.equal(other.score, 1)
    // An entry grants `body`, but no entry that matches this document.
    assert.equal((await get(key, one.document_id, '/content')).status, 404)
  })

  test('unknown and unentitled ids are the same 404', async () => {
    const hidden = await sendOne(server, collector, documentOf('hidden', { dataset_id: hiddenDataset }))
    const unknown = `doc_${'0'.repeat(26)}`
    const late = await keyFor([{ datasets: [news], published_from: '2026-03-02T00:00:00Z' }])
    const cases: [string, string | undefined][] = [
      [all, hidden.document_id],
      [all, unknown],
      [all, 'doc_short'],
      [all, 'nonsense'],
      [all, one.version_id],
      [await keyFor([{ datasets: [news], platforms: ['web'] }]), one.document_id],
      [await keyFor([{ datasets: [news], languages: ['de'] }]), one.document_id],
      [await keyFor([{ datasets: [news], regions: ['FR'] }]), one.document_id],
      [await keyFor([{ datasets: [news], regions: ['GB'] }]), german.document_id],
      [late, one.document_id],
      [late, german.document_id],
    ]
    for (const [key, id] of cases) {
      const seen = []
      for (const rest of ['', '/content', '/versions', '/snapshots']) {
        const { status, body } = await get(key, id, rest)
        seen.push(`${status} ${body.code} ${body.message}`)
      }
      assert.equal(new Set(seen).size, 1)
      assert.match(seen[0]!, /^404 document_not_found /)
      assert.deepEqual((await batch(key, [id])).body, { documents: [], missing: [id] })
    }
    const nobody = await keyFor([])
    assert.equal((await get(nobody, one.document_id)).status, 403)
    assert.equal((await batch(nobody, [one.document_id])).status, 403)
  })

  test('the text of a version', async () => {
    const first = await sendOne(server, collector, documentOf('texts', { language: 'en' }))
    const second = await sendOne(server, collector, documentOf('texts', { body: 'Second', language: 'fr' }))
    const { created_at: firstAt, ...old } = (
      await get(all, first.document_id, `/content?version_id=${first.version_id}`)
    ).body
    assert.deepEqual(old, {
      document_id: first.document_id,
      version_id: first.version_id,
      is_current: false,
      title: 'Title of texts',
      body: 'Body of texts',
      language: 'en',
      published_at: null,
    })
    const { body: current } = await get(all, first.document_id, '/content')
    assert.deepEqual(current, {
      ...current,
      version_id: second.version_id,
      is_current: true,
      body: 'Second',
      language: 'fr',
    })
    assert.ok(Date.parse(firstAt) <= Date.parse(current.created_at))
    for (const version of [one.version_id!, `ver_${'0'.repeat(26)}`, 'nonsense']) {
      const answer = await get(all, first.document_id, `/content?version_id=${version}`)
      assert.equal(answer.status, 404, version)
      assert.equal(answer.body.code, 'version_not_found')
    }
  })

  test('versions and snapshots are paged, newest first', async () => {
    const sent: Result[] = []
    for (let i = 0; i < 7; i++) {
      sent.push(
        ...(await send(server, collector, [documentOf('paged', { title: `T${i}`, score: i, metrics: { n: i } })])),
      )
    }
    const id = sent[0]!.document_id
    for (const [what, expected] of [
      ['versions', sent.map((result) => result.version_id).reverse()],
      ['snapshots', [6, 5, 4, 3, 2, 1, 0]],
    ] as const) {
      const nameOf = (item: Record<string, unknown>) => (what === 'versions' ? item.version_id : item.score)
      const whole = (await get(all, id, `/${what}`)).body
      assert.deepEqual(whole[what].map(nameOf), expected)
      assert.equal('next_cursor' in whole, false)
      const seen: unknown[] = []
      const sizes: number[] = []
      let cursor: string | undefined
      let firstCursor: string | undefined
      do {
        const page = (await get(all, id, `/${what}?limit=3${cursor === undefined ? '' : `&cursor=${cursor}`}`)).body
        seen.push(...page[what].map(nameOf))
        sizes.push(page[what].length)
        cursor = page.next_cursor
        firstCursor ??= cursor
      } while (cursor !== undefined)
      assert.deepEqual(seen, expected)
      assert.deepEqual(sizes, [3, 3, 1])
      const other = await keyFor([{ datasets: [news] }])
      const refused: [string, string | undefined, string][] = [
        [all, id, `/${what}?limit=4&cursor=${firstCursor}`],
        [all, id, `/${what}?limit=3&cursor=${firstCursor}x`],
        [all, id, `/${what}?limit=3&cursor=`],
        [all, one.document_id, `/${what}?limit=3&cursor=${firstCursor}`],
        [all, id, `/${what === 'versions' ? 'snapshots' : 'versions'}?limit=3&cursor=${firstCursor}`],
        [other, id, `/${what}?limit=3&cursor=${firstCursor}`],
        [all, id, `/${what}?limit=0`],
        [all, id, `/${what}?limit=201`],
        [all, id, `/${what}?limit=3&limit=3`],
        [all, id, `/${what}?before=x`],
      ]
      for (const [key, document, rest] of refused) {
        const answer = await get(key, document, rest)
        assert.equal(answer.status, 400, rest)
        assert.equal(answer.body.code, 'invalid_document_query')
      }
    }
    const { body } = await get(all, id, '/versions?limit=200')
    assert.deepEqual(
      body.versions.map((version: { is_current: boolean }) => version.is_current),
      [true, ...Array(6).fill(false)],
    )
    const exact = (await get(all, id, '/versions?limit=7')).body
    assert.equal('next_cursor' in exact, false)
  })

  test('batch-get: in the order asked for, each once, the missing named', async () => {
    const results = await send(
      server,
      collector,
      Array.from({ length: 200 }, (_, i) => documentOf(`many-${i}`)),
    )
    const ids = results.map((result) => result.document_id!).reverse()
    const { body } = await batch(all, ids)
    assert.deepEqual(
      body.documents.map((document: { id: string }) => document.id),
      ids,
    )
    assert.deepEqual(body.missing, [])
    const { content, ...document } = body.documents[0]
    assert.deepEqual(content, {
      version_id: document.current_version_id,
      title: 'Title of many-199',
      body: 'Body of many-199',
    })

    const unknown = `doc_${'z'.repeat(26)}`
    const mixed = await batch(all, [ids[1], unknown, ids[0], ids[1], 'nonsense', unknown])
    assert.deepEqual(
      mixed.body.documents.map((one: { id: string }) => one.id),
      [ids[1], ids[0]],
    )
    assert.deepEqual(mixed.body.missing, [unknown, 'nonsense'])
    assert.equal((await batch(all, [...ids, ...ids])).body.documents.length, 200)
    for (const bad of [[], [...ids, unknown], undefined, 'x', [5], ['']]) {
      const answer = await batch(all, bad)
      assert.equal(answer.status, 400, JSON.stringify(bad)?.slice(0, 40))
      assert.equal(answer.body.code, 'invalid_document_query')
    }
    const extra = await server.consumer(all, 'POST', '/v1/documents/batch-get', { document_ids: [ids[0]], fields: [] })
    assert.equal(extra.status, 400)
  })

  test('unknown parameters are refused', async () => {
    for (const rest of [
      '?fields=title',
      '/content?version=1',
      '/content?version_id=',
      '/versions?cursor=',
      '/content?version_id=a&version_id=b',
    ]) {
      const answer = await get(all, one.document_id, rest)
      assert.equal(answer.status, 400, rest)
      assert.equal(answer.body.code, 'invalid_document_query')
    }
  })
})
