import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { documentsOf } from './content.ts'
import { expectError } from './expect-error.ts'
import { fakeVector } from './fake-embedding.ts'
import type { Answer } from './harness.ts'
import { type SearchWorld, sharedWorld } from './search-world.ts'

const datasets = ['entitlements-news', 'entitlements-forum', 'entitlements-secret'] as const
const [news, forum, secret] = datasets
const documentOf = documentsOf(news)

/** Texts that an application may not read cannot be found, counted or guessed, in any mode. */
let world: SearchWorld
const modes = ['keyword', 'vector', 'hybrid'] as const
const searchable = 'gannet'

before(async () => {
  world = await sharedWorld(datasets)
  const text = { title: 'Titleword gannet', body: 'Bodyword gannet dives from the cliff.' }
  await world.putIndexed(
    documentOf('plain', text),
    documentOf('board', { ...text, source_platform: 'board' }),
    documentOf('forum', { ...text, dataset_id: forum }),
    documentOf('secret', { ...text, dataset_id: secret, title: 'Secretword gannet' }),
    documentOf('en', { ...text, language: 'en', region: 'GB', published_at: '2026-01-10T00:00:00Z' }),
    documentOf('de', { ...text, language: 'de', region: 'DE', published_at: '2026-03-10T00:00:00Z' }),
  )
})

const sorted = async (key: string, more: object = {}): Promise<string[]> =>
  (await world.names({ query: searchable, ...more }, key)).sort()

suite('which documents', () => {
  const cases: readonly (readonly [string, readonly object[], readonly string[]])[] = [
    ['one dataset', [{ datasets: [forum] }], ['forum']],
    ['one platform of it', [{ datasets: [news], platforms: ['board'] }], ['board']],
    ['languages', [{ datasets: [news], languages: ['en', 'fr'] }], ['en']],
    ['regions', [{ datasets: [news, secret], regions: ['DE'] }], ['de']],
    ['from a time', [{ datasets: [news], published_from: '2026-01-10T00:00:00Z' }], ['de', 'en']],
    ['up to a time', [{ datasets: [news], published_to: '2026-03-10T00:00:00Z' }], ['en']],
    [
      'two entries, each its own pair',
      [
        { datasets: [news], languages: ['de'] },
        { datasets: [forum], platforms: ['board'] },
      ],
      ['de'],
    ],
  ]
  for (const [what, entitlements, names] of cases) {
    test(what, async () => {
      const key = await world.application(entitlements)
      for (const mode of modes) {
        assert.deepEqual(await sorted(key, { mode }), names, mode)
        assert.deepEqual(await sorted(key, { mode, include_non_current: true }), names, mode)
      }
      const byVector = { mode: 'vector', query: undefined, query_vector: fakeVector('gannet cliff') }
      assert.deepEqual(await sorted(key, byVector), names)
      const found = await world.search({ query: searchable }, '/v1/search', key)
      assert.deepEqual([found.total, found.total_documents, found.total_chunks], Array(3).fill(names.length))
      assert.equal(found.cursor, undefined)
      const counted = await world.server.mustAdmin('POST', '/admin/v1/entitlements/count', { entitlements })
      const byDataset = counted.datasets.map((one: { documents: number }) => one.documents)
      assert.deepEqual(
        [counted.documents, byDataset.reduce((a: number, b: number) => a + b)],
        [names.length, names.length],
      )
    })
  }

  test('counted for an operator: nothing without an entry, by dataset in order, and only what entitlements can be', async () => {
    const count = (entitlements: unknown) =>
      world.server.admin('POST', '/admin/v1/entitlements/count', { entitlements })
    assert.deepEqual((await count([])).body, { documents: 0, datasets: [] })
    assert.deepEqual((await count([{ datasets: [news, forum], fields: ['title'] }, { datasets: [forum] }])).body, {
      documents: 5,
      datasets: [
        { dataset_id: forum, documents: 1 },
        { dataset_id: news, documents: 4 },
      ],
    })
    await expectError(world.server, await count([{ datasets: [] }]), 400, 'invalid_request')
    await expectError(world.server, await count(Array(1001).fill({ datasets: [news] })), 400, 'invalid_request')
  })

  test('words that stand only where one may not read find nothing', async () => {
    const key = await world.application([{ datasets: [news, forum] }])
    for (const mode of ['keyword', 'hybrid']) {
      const found = await world.search({ query: '+secretword', mode, include_highlights: true }, '/v1/search', key)
      assert.ok(!JSON.stringify(found.results).toLowerCase().includes('secret'), mode)
    }
    const found = await world.search({ query: 'secretword' }, '/v1/search', key)
    assert.deepEqual([found.results, found.total_chunks], [[], 0])
  })

  test('languages and times outside the entries narrow to nothing', async () => {
    const key = await world.application([{ datasets: [news], languages: ['en'], published_to: '2026-02-01T00:00:00Z' }])
    assert.deepEqual(await sorted(key, { languages: ['de'] }), [])
    assert.deepEqual(await sorted(key, { published_from: '2026-02-01T00:00:00Z' }), [])
    assert.deepEqual(await sorted(key, { languages: ['en', 'de'] }), ['en'])
  })

  test('a changed entitlement counts on the next request', async () => {
    const { applicationId, key } = await world.server.makeApplication({ entitlements: [{ datasets: [forum] }] })
    assert.deepEqual(await sorted(key), ['forum'])
    await world.server.mustAdmin('PUT', `/admin/v1/applications/${applicationId}/entitlements`, {
      entitlements: [{ datasets: [secret] }],
    })
    assert.deepEqual(await sorted(key), ['secret'])
  })
})

suite('which requests', () => {
  const refused = async (key: string, body: object, path = '/v1/search'): Promise<void> =>
    expectError(world.server, await world.raw({ query: searchable, ...body }, path, key), 403, 'entitlement_denied')

  test('a dataset, platform or field outside is 403, never dropped in silence', async () => {
    const key = await world.application([{ datasets: [news], platforms: ['rss'], fields: ['title'] }])
    for (const path of ['/v1/search', '/v1/search/history', '/v1/contents/search', '/v1/search/keyword']) {
      await refused(key, { datasets: [forum] }, path)
      await refused(key, { datasets: [news, forum] }, path)
      await refused(key, { datasets: ['no-such-dataset'] }, path)
      await refused(key, { platforms: ['board'] }, path)
      await refused(key, { platforms: ['rss', 'board'] }, path)
      await refused(key, { fields: ['body'] }, path)
      await refused(key, { fields: ['title', 'body'] }, path)
      await refused(key, { fields: ['title', 'author'] }, path)
    }
    assert.equal((await world.raw({ query: searchable, fields: ['title', 'language'] }, '/v1/search', key)).status, 200)
    const authors = await world.application([{ datasets: [news], fields: ['title', 'author'] }])
    await refused(authors, { fields: ['tags'] })
    assert.equal((await world.raw({ query: searchable, fields: ['author'] }, '/v1/search', authors)).status, 200)
  })

  test('what needs a field permission that is not granted is named', async () => {
    const key = await world.application([{ datasets: [news], fields: ['title'] }])
    const named = async (answer: Promise<Answer>) => {
      await expectError(world.server, await answer, 403, 'entitlement_denied')
      return (await answer).body.details.map(({ path }: { path: string }) => path)
    }
    for (const [body, path] of [
      [{ topics: ['x'] }, 'topics'],
      [{ tags: ['x'], facets: ['topics'] }, 'tags'],
      [{ external_author_id: 'x', platforms: ['rss'] }, 'external_author_id'],
      [{ classification_codes: ['x'] }, 'classification_codes'],
      [{ score_max: 1, sort: '-score' }, 'score_max'],
      [{ sort: '-score' }, 'sort'],
      [{ facets: ['dataset', 'author'] }, 'facets'],
      [{ fields: ['tags'] }, 'fields'],
    ] as const) {
      assert.deepEqual(await named(world.raw({ query: searchable, ...body }, '/v1/search/keyword', key)), [path])
    }
    const get = (path: string) => world.server.consumer(key, 'GET', path)
    assert.deepEqual(await named(get('/v1/documents/browse?score_min=1')), ['score_min'])
    assert.deepEqual(await named(get('/v1/documents/browse?tags=x')), ['tags'])
    assert.deepEqual(await named(get('/v1/values/topics')), ['field'])
  })

  test('a pair that no single entry allows is 403', async () => {
    const key = await world.application([
      { datasets: [news], platforms: ['rss'] },
      { datasets: [forum], platforms: ['board'] },
    ])
    await refused(key, { datasets: [news], platforms: ['board'] })
    assert.deepEqual(await sorted(key, { datasets: [news], platforms: ['rss'] }), ['de', 'en', 'plain'])
  })

  test('no entry, or none with a text, is 403', async () => {
    await refused(await world.application([]), {})
    const facts = await world.application([{ datasets: [news], fields: ['facts', 'metrics'] }])
    for (const mode of modes) {
      await refused(facts, { mode })
      await refused(facts, {}, `/v1/search/${mode}`)
    }
  })

  test('vector search needs the body', async () => {
    const title = await world.application([{ datasets: [news], fields: ['title'] }])
    await refused(title, { mode: 'vector' })
    await refused(title, { mode: 'vector', query: undefined, query_vector: fakeVector('x') })
    await refused(title, {}, '/v1/search/vector')
  })

  test('bad requests come before refused ones', async () => {
    const key = await world.application([])
    await expectError(world.server, await world.raw({ query: '' }, '/v1/search', key), 400, 'invalid_query')
  })
})

suite('which fields', () => {
  test('titles alone: words of bodies find nothing, and no text of a body is given', async () => {
    const key = await world.application([{ datasets: [news, forum], fields: ['title'] }])
    assert.deepEqual(await sorted(key, { query: 'titleword' }), ['board', 'de', 'en', 'forum', 'plain'])
    for (const query of ['bodyword', '+bodyword', '"bodyword gannet"', '+titleword +cliff', 'dives from']) {
      const found = await world.search({ query }, '/v1/search', key)
      assert.deepEqual([found.results, found.total_chunks], [[], 0], query)
    }
    // Not even by excluding a word.
    assert.equal((await sorted(key, { query: 'titleword -bodyword' })).length, 5)
    for (const mode of ['keyword', 'hybrid']) {
      const body = { query: 'titleword bodyword', mode, include_highlights: true, include_chunks: true }
      const answer = await world.raw(body, '/v1/search', key)
      assert.equal(answer.body.results.length, 5, mode)
      assert.doesNotMatch(answer.text, /bodyword|cliff|"body"/i, mode)
      assert.match(answer.text, /<em>Titleword<\/em>/)
      for (const hit of answer.body.results) assert.equal(hit.vector_score, null)
    }
  })

  test('bodies alone: words of titles find nothing, and no title is given', async () => {
    const key = await world.application([{ datasets: [news, forum], fields: ['body'] }])
    assert.deepEqual(await sorted(key, { query: 'bodyword' }), ['board', 'de', 'en', 'forum', 'plain'])
    for (const query of ['titleword', '+titleword', '"titleword gannet"', '+bodyword +titleword']) {
      const found = await world.search({ query }, '/v1/search', key)
      assert.deepEqual([found.results, found.total_chunks], [[], 0], query)
    }
    for (const mode of modes) {
      const body = { query: 'titleword bodyword', mode, include_highlights: true, include_chunks: true }
      const answer = await world.raw(body, '/v1/search', key)
      assert.equal(answer.body.results.length, 5, mode)
      assert.doesNotMatch(answer.text, /titleword|"title"/i, mode)
      assert.match(answer.text, /<em>Bodyword<\/em>/)
    }
  })

  test('each document with the fields of the entries that match it', async () => {
    const key = await world.application([
      { datasets: [news], languages: ['en'], fields: ['title'] },
      { datasets: [news], languages: ['de'], fields: ['body'] },
    ])
    assert.deepEqual(await sorted(key, { query: 'titleword' }), ['en'])
    assert.deepEqual(await sorted(key, { query: 'bodyword' }), ['de'])
    assert.deepEqual(await sorted(key, { mode: 'vector', query: 'bodyword' }), ['de'])
    const { results } = await world.search({ query: 'gannet' }, '/v1/search', key)
    for (const hit of results) {
      assert.deepEqual(['title' in hit, 'body' in hit], hit.language === 'en' ? [true, false] : [false, true])
    }
    assert.equal(results.length, 2)
    await expectError(
      world.server,
      await world.raw({ query: 'gannet', fields: ['title', 'metadata'] }, '/v1/search', key),
      400,
      'invalid_query',
    )
  })

  test('what a page shows of a result: details in every mode, author, topics and tags with their permissions', async () => {
    const about = {
      url: 'https://example.com/gannet',
      region: 'GB',
      author: { external_author_id: 'u7', nickname: 'Solan', biography: 'Long.' },
      topics: ['birds'],
      tags: ['#sea'],
    }
    await world.putIndexed(documentOf('shown', { title: 'Shown solan', body: 'Solan goose.', ...about }))
    const all = { author: { external_author_id: 'u7', nickname: 'Solan' }, topics: ['birds'], tags: ['#sea'] }
    for (const [fields, expected] of [
      [['title', 'body'], {}],
      [['title', 'body', 'author'], { author: all.author }],
      [['title', 'body', 'metadata'], all],
    ] as const) {
      const key = await world.application([{ datasets: [news], fields }])
      for (const mode of modes) {
        const { results } = await world.search({ query: '"solan goose"', mode, limit: 1 }, '/v1/search', key)
        const { url, external_id, region, status, ...hit } = results[0] as unknown as Record<string, unknown>
        assert.deepEqual([url, external_id, region, status], [about.url, 'shown', 'GB', 'active'], mode)
        const shown = Object.fromEntries(Object.keys(all).flatMap((name) => (name in hit ? [[name, hit[name]]] : [])))
        assert.deepEqual(shown, expected, mode)
      }
    }
  })

  test('scores tell nothing of the words of a text that may not be read', async () => {
    await world.putIndexed(
      documentOf('twin-1', { title: 'Skua', body: 'skua skua harrier', quality: 0.5 }),
      documentOf('twin-2', { title: 'Skua', body: 'plover plover curlew', quality: 0.5 }),
    )
    const key = await world.application([{ datasets: [news], fields: ['title'] }])
    for (const mode of ['keyword', 'hybrid']) {
      const { results } = await world.search({ query: 'skua harrier', mode }, '/v1/search', key)
      assert.deepEqual(world.namesOf(results).sort(), ['twin-1', 'twin-2'])
      assert.equal(results[0]!.score, results[1]!.score, mode)
    }
  })

  test('scores and counts tell nothing of how long a body is that may not be read', async () => {
    const long = 'Far out at sea the plover rests. '.repeat(400)
    await world.putIndexed(
      documentOf('short-body', { title: 'Avocet', body: 'plover', quality: 0.5 }),
      documentOf('long-body', { title: 'Avocet', body: long, quality: 0.5 }),
      documentOf('no-body', { title: 'Avocet', body: null, quality: 0.5 }),
    )
    const key = await world.application([{ datasets: [news], fields: ['title'] }])
    for (const mode of ['keyword', 'hybrid']) {
      const found = await world.search({ query: 'avocet', mode, include_chunks: true }, '/v1/search', key)
      assert.deepEqual(world.namesOf(found.results).sort(), ['long-body', 'no-body', 'short-body'])
      assert.equal(new Set(found.results.map(({ score }) => score)).size, 1, mode)
      assert.deepEqual(
        found.results.map(({ matched_chunks }) => matched_chunks?.map(({ chunk_index }) => chunk_index)),
        [[0], [0], [0]],
      )
      assert.equal(found.total_chunks, 3, mode)
    }
  })
})

test('what an application may not read does not move its scores', async () => {
  await world.putIndexed(
    documentOf('heron-1', { title: 'Heron', body: 'A heron stands in the reeds.', dataset_id: forum }),
    documentOf('heron-2', { title: 'Pond', body: 'Reeds, water and a heron.', dataset_id: forum }),
  )
  const key = await world.application([{ datasets: [forum] }])
  const ask = async (mode: string) =>
    (await world.search({ query: 'heron reeds', mode }, '/v1/search', key)).results.map(({ document_id, ...hit }) => [
      document_id,
      hit.score,
      hit.keyword_score,
    ])
  const before = [await ask('keyword'), await ask('hybrid')]
  const hidden = { title: 'Heron', body: 'Heron after heron after heron in the reeds.', dataset_id: secret }
  await world.putIndexed(...Array.from({ length: 60 }, (_, i) => documentOf(`hidden-heron-${i}`, hidden)))
  assert.deepEqual([await ask('keyword'), await ask('hybrid')], before)
  assert.equal(before[0]!.length, 2)
})
