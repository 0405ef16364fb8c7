import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { documentsOf } from '../acceptance/content.ts'
import { expectError } from '../acceptance/expect-error.ts'
import { fakeVector } from '../acceptance/fake-embedding.ts'
import { type Found, type Hit, type SearchWorld, sharedWorld } from '../acceptance/search-world.ts'

const datasets = ['pages-news', 'pages-forum'] as const
const [news, forum] = datasets
const documentOf = documentsOf(news)

/** Paging, order, scores and versions, in every mode. */
let world: SearchWorld
const modes = ['keyword', 'vector', 'hybrid'] as const
const count = 57

before(async () => {
  world = await sharedWorld(datasets)
  const many = Array.from({ length: count }, (_, i) =>
    documentOf(`heron-${i}`, {
      title: `Heron ${i % 5 === 0 ? 'heron' : ''} ${i % 7}`,
      // Several documents have the same score, so the order among equals matters.
      body: `${'A heron stands in the reeds. '.repeat(1 + (i % 4))}${i % 3 === 0 ? 'Frogs beware.' : ''}`,
      language: i % 2 === 0 ? 'en' : 'de',
      quality: (i % 10) / 10,
      published_at: new Date(Date.UTC(2026, 0, 1 + i)).toISOString(),
    }),
  )
  // Many chunks of one document must neither crowd out other documents nor return it twice.
  many.push(
    documentOf('heron-long', { title: 'Long heron', body: 'The heron waits in the reeds for frogs. '.repeat(400) }),
  )
  await world.putIndexed(...many)
  await world.putIndexed(documentOf('versions', { title: 'First osprey', body: 'The osprey of old eats trout.' }))
  await world.putIndexed(documentOf('versions', { title: 'Second osprey', body: 'The osprey of today eats salmon.' }))
  await world.putIndexed(documentOf('versions-2', { title: 'Plain', body: 'An osprey eats trout daily.' }))
})

async function pages(body: object, key: string = world.key): Promise<Found[]> {
  const all: Found[] = []
  let cursor: string | undefined
  do {
    const page = await world.search({ ...body, ...(cursor === undefined ? {} : { cursor }) }, '/v1/search', key)
    all.push(page)
    cursor = page.cursor
    assert.ok(all.length < 100, 'the pages do not end')
  } while (cursor !== undefined)
  return all
}

/** Recency changes a hybrid score slightly from one request to the next. */
const rounded = (hits: readonly Hit[]) => hits.map(({ document_id, score }) => [document_id, score.toFixed(6)])

const descending = (hits: readonly Hit[]): void => {
  for (let i = 1; i < hits.length; i++) assert.ok(hits[i - 1]!.score >= hits[i]!.score, `at ${i}`)
}

suite('keyword pages', () => {
  for (const limit of [1, 7, 20, 58, 100]) {
    test(`pages of ${limit} give every document once, in one order`, async () => {
      const all = await pages({ query: 'heron frogs', limit })
      const hits = all.flatMap(({ results }) => results)
      assert.equal(new Set(hits.map(({ document_id }) => document_id)).size, count + 1)
      assert.equal(hits.length, count + 1)
      descending(hits)
      for (const page of all.slice(0, -1)) assert.equal(page.results.length, limit)
      for (const page of all) {
        assert.equal(page.total, page.results.length)
        assert.equal(page.total_documents, page.results.length)
      }
      // The same order and the same scores, for any page size.
      const whole = (await world.search({ query: 'heron frogs', limit: 100 })).results
      assert.deepEqual(
        hits.map(({ document_id, score }) => [document_id, score]),
        whole.map(({ document_id, score }) => [document_id, score]),
      )
    })
  }

  test('no cursor where there is no next page', async () => {
    assert.equal((await world.search({ query: 'heron', limit: 58 })).cursor, undefined)
    assert.equal((await world.search({ query: 'nothinglikethis' })).cursor, undefined)
    assert.equal(typeof (await world.search({ query: 'heron', limit: 57 })).cursor, 'string')
  })

  test('the legacy entry and history go on from each other, because they are the same search', async () => {
    const first = await world.search({ query: 'heron', limit: 30 }, '/v1/search')
    const next = await world.search({ query: 'heron', limit: 30, cursor: first.cursor }, '/v1/search/keyword')
    assert.equal(next.results.length, 28)
  })

  test('a cursor is bound to every condition, to the limit and to the application', async () => {
    const base = { query: 'heron frogs', limit: 5, languages: ['en', 'de'], published_from: '2026-01-01T00:00:00Z' }
    const { cursor } = await world.search(base)
    assert.equal((await world.raw({ ...base, cursor })).status, 200)
    assert.equal((await world.raw({ ...base, mode: 'keyword', cursor })).status, 200)
    const changed: object[] = [
      { query: 'heron frog' },
      { limit: 6 },
      { languages: ['en'] },
      { languages: undefined },
      { datasets: [news] },
      { platforms: ['rss'] },
      { published_from: '2026-01-01T00:00:00.001Z' },
      { published_to: '2027-01-01T00:00:00Z' },
      { fields: ['title'] },
      { include_highlights: true },
      { include_chunks: true },
      { include_non_current: true },
    ]
    for (const change of changed) {
      const answer = await world.raw({ ...base, ...change, cursor })
      await expectError(world.server, answer, 400, 'invalid_query')
      assert.match(answer.body.message, /cursor/)
    }
    const other = await world.application([{ datasets: [news, forum] }])
    await expectError(world.server, await world.raw({ ...base, cursor }, '/v1/search', other), 400, 'invalid_query')
    for (const place of [0, 1, 5, Math.floor(cursor!.length / 2), cursor!.length - 1]) {
      const letter = cursor![place] === 'A' ? 'B' : 'A'
      const tampered = cursor!.slice(0, place) + letter + cursor!.slice(place + 1)
      await expectError(world.server, await world.raw({ ...base, cursor: tampered }), 400, 'invalid_query')
    }
    for (const wrong of [cursor!.slice(0, -1), `${cursor!}A`, cursor!.slice(1), '.', 'x'.repeat(5000), '\u0000', '☃']) {
      await expectError(world.server, await world.raw({ ...base, cursor: wrong }), 400, 'invalid_query')
    }
  })

  test('a cursor of another area of the API is refused', async () => {
    const browse = await world.server.consumer(world.key, 'GET', '/v1/documents/browse?limit=1')
    assert.equal(typeof browse.body.next_cursor, 'string')
    const answer = await world.raw({ query: 'heron', cursor: browse.body.next_cursor })
    await expectError(world.server, answer, 400, 'invalid_query')
  })

  test('a cursor outlives a restart', async () => {
    const first = await world.search({ query: 'heron frogs', limit: 20 })
    await world.server.restart()
    const rest = await world.search({ query: 'heron frogs', limit: 20, cursor: first.cursor })
    const seen = new Set(first.results.map(({ document_id }) => document_id))
    assert.equal(rest.results.length, 20)
    assert.ok(rest.results.every(({ document_id }) => !seen.has(document_id)))
  })
})

suite('scores', () => {
  for (const mode of modes) {
    test(`${mode}: ordered by score, once a document, whatever the limit`, async () => {
      const body = { query: 'heron reeds frogs', mode }
      const whole = (await world.search({ ...body, limit: 100 })).results
      descending(whole)
      assert.equal(new Set(whole.map(({ document_id }) => document_id)).size, whole.length)
      for (const limit of [1, 3, 20]) {
        assert.deepEqual(rounded((await world.search({ ...body, limit })).results), rounded(whole.slice(0, limit)))
      }
    })

    test(`${mode}: a component that does not apply is null`, async () => {
      const found = await world.search({ query: 'heron frogs', mode, limit: 10 })
      assert.ok(found.results.length > 0)
      for (const hit of found.results) {
        const there = [hit.keyword_score, hit.vector_score, hit.rerank_score].map((score) => typeof score === 'number')
        assert.deepEqual(
          there,
          { keyword: [true, false, false], vector: [false, true, false], hybrid: [true, true, true] }[mode],
        )
        if (mode === 'keyword') assert.equal(hit.keyword_score, hit.score)
        if (mode === 'vector') assert.equal(hit.vector_score, hit.score)
        if (mode === 'hybrid') assert.equal(hit.rerank_score, hit.score)
      }
      assert.equal(found.cursor === undefined, mode !== 'keyword')
    })
  }

  test('vector mode: text and the vector of that text find the same', async () => {
    const byText = await world.search({ mode: 'vector', query: 'osprey salmon' })
    const byVector = await world.search({ mode: 'vector', query_vector: fakeVector('osprey salmon') })
    assert.deepEqual(rounded(byVector.results), rounded(byText.results))
    assert.ok(byText.results[0]!.vector_score! <= 1.000001)
  })

  test("the caller's vector is taken before the text's", async () => {
    const found = await world.search({ mode: 'vector', query: 'heron', query_vector: fakeVector('osprey eats trout') })
    assert.equal(world.namesOf(found.results)[0], 'versions-2')
  })

  test('hybrid: a document that one branch alone finds still competes', async () => {
    const found = await world.search({ query: 'nothinglikethis', query_vector: fakeVector('osprey trout'), limit: 5 })
    assert.equal(world.namesOf(found.results)[0], 'versions-2')
    const names = await world.names({ query: 'osprey', query_vector: fakeVector('heron reeds'), limit: 100 })
    assert.ok(names.includes('versions') && names.includes('versions-2'))
  })
})

suite('versions', () => {
  for (const mode of modes) {
    test(`${mode}: the current version alone, unless others may take part`, async () => {
      const body = { query: 'osprey trout', mode }
      const current = await world.search(body)
      const hit = current.results.find(({ title }) => title === 'Second osprey')
      assert.ok(!current.results.some(({ title }) => title === 'First osprey'))
      const both = await world.search({ ...body, include_non_current: true })
      const ids = both.results.map(({ document_id }) => document_id)
      assert.equal(new Set(ids).size, ids.length)
      const old = both.results.find(({ title }) => title === 'First osprey')
      assert.ok(old !== undefined, 'the version that matches better is shown')
      assert.match(old.body!, /of old/)
      if (hit !== undefined) {
        assert.equal(old.document_id, hit.document_id)
        assert.notEqual(old.version_id, hit.version_id)
      }
    })
  }

  test('words of an old version find nothing', async () => {
    assert.deepEqual(await world.names({ query: '+old +trout' }), [])
    assert.deepEqual(await world.names({ query: '+old +trout', include_non_current: true }), ['versions'])
    assert.deepEqual(await world.names({ query: 'First' }), [])
  })
})
