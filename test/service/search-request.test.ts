import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { documentsOf } from '../acceptance/content.ts'
import { expectError } from '../acceptance/expect-error.ts'
import { fakeDimensions, fakeVector } from '../acceptance/fake-embedding.ts'
import type { Answer } from '../acceptance/harness.ts'
import { codes, type SearchWorld, sharedWorld } from '../acceptance/search-world.ts'
import { resultNames } from '../support/document-fields.ts'

const datasets = ['request-news', 'request-forum'] as const
const [news, forum] = datasets
const documentOf = documentsOf(news)

/** Valid and invalid search requests, and the errors for them. */
let world: SearchWorld
const paths = ['/v1/search', '/v1/search/history', '/v1/contents/search'] as const
const vector = fakeVector('harbour')

before(async () => {
  world = await sharedWorld(datasets)
  await world.putIndexed(
    documentOf('harbour', {
      language: 'en',
      title: 'The harbour at dawn',
      body: 'Boats leave the harbour before dawn.',
    }),
    documentOf('market', { language: 'en', title: 'The market', body: 'Fish is sold at the market near the harbour.' }),
  )
})

/** 400 `invalid_query` that names the field. */
async function refused(answer: Answer, field: RegExp): Promise<void> {
  await expectError(world.server, answer, 400, 'invalid_query')
  const named = [answer.body.message, ...(answer.body.details ?? []).map((one: { path: string }) => one.path)].join(' ')
  assert.match(named, field)
}

suite('modes', () => {
  for (const path of paths) {
    test(`${path}: keyword without a vector, hybrid with one, as asked where asked`, async () => {
      assert.equal((await world.search({ query: 'harbour' }, path)).mode, 'keyword')
      assert.equal((await world.search({ query: 'harbour', query_vector: vector }, path)).mode, 'hybrid')
      for (const mode of ['keyword', 'vector', 'hybrid']) {
        assert.equal((await world.search({ mode, query: 'harbour' }, path)).mode, mode)
      }
      assert.equal((await world.search({ mode: 'vector', query_vector: vector }, path)).mode, 'vector')
    })
  }

  for (const mode of ['keyword', 'vector', 'hybrid'] as const) {
    test(`/v1/search/${mode} is in that mode; another is refused`, async () => {
      const path = `/v1/search/${mode}`
      const found = await world.search({ query: 'harbour' }, path)
      assert.equal(found.mode, mode)
      assert.equal(found.results.length, 2)
      assert.equal((await world.search({ query: 'harbour', mode }, path)).mode, mode)
      for (const other of ['keyword', 'vector', 'hybrid'].filter((one) => one !== mode)) {
        await refused(await world.raw({ query: 'harbour', mode: other }, path), /mode/)
      }
      // A vector does not change the mode that the path sets.
      assert.equal((await world.search({ query: 'harbour', query_vector: vector }, path)).mode, mode)
      await refused(await world.raw({ query: 'harbour', live: { enabled: false } }, path), /live/)
    })
  }

  test('the answer has every field that is promised, and no other', async () => {
    const { body } = await world.raw({ query: 'harbour' })
    assert.deepEqual(Object.keys(body).sort(), [
      'degraded',
      'live_query',
      'mode',
      'results',
      'top_k',
      'total',
      'total_chunks',
      'total_documents',
      'warnings',
    ])
    assert.deepEqual([body.total, body.total_documents, body.total_chunks], [2, 2, 2])
    assert.deepEqual([body.degraded, body.warnings, body.live_query], [false, [], null])
    assert.equal(typeof body.top_k, 'number')
    const ids = ['document_id', 'version_id', 'best_chunk_id']
    const scores = ['score', 'keyword_score', 'vector_score', 'rerank_score']
    assert.deepEqual(Object.keys(body.results[0]).sort(), [...ids, 'origin', 'body', ...scores, ...resultNames].sort())
    assert.match(body.results[0].document_id, /^doc_/)
    assert.match(body.results[0].version_id, /^ver_/)
    assert.match(body.results[0].best_chunk_id, /^chk_/)
    assert.equal(body.results[0].origin, 'indexed')
  })

  test('the three entries answer alike', async () => {
    const answers = await Promise.all(paths.map((path) => world.search({ query: 'harbour dawn' }, path)))
    assert.deepEqual(answers[1], answers[0])
    assert.deepEqual(answers[2], answers[0])
  })
})

suite('what is refused', () => {
  const bad: readonly (readonly [string, object, RegExp])[] = [
    ['an unknown field', { query: 'x', colour: 'red' }, /colour/],
    ['a catalog condition', { query: 'x', mode: 'hybrid', topics: ['a'] }, /topics/],
    ['an author', { query: 'x', mode: 'vector', external_author_id: 'a' }, /external_author_id/],
    ['an unknown mode', { query: 'x', mode: 'fuzzy' }, /mode/],
    ['a mode of another type', { query: 'x', mode: 1 }, /mode/],
    ['no query', {}, /query/],
    ['no query with a vector in keyword mode', { mode: 'keyword', query_vector: vector }, /query/],
    ['no query with a vector in hybrid mode', { query_vector: vector }, /query/],
    ['vector mode with neither', { mode: 'vector' }, /query/],
    ['an empty query', { query: '' }, /query/],
    ['a query of blanks', { query: ' \n\t\u3000 ' }, /query/],
    ['an empty query beside a vector', { mode: 'vector', query: ' ', query_vector: vector }, /query/],
    ['a query too long', { query: 'x'.repeat(1001) }, /query/],
    ['a query that is a number', { query: 7 }, /query/],
    ['a query that is null', { query: null }, /query/],
    ['too few dimensions', { mode: 'vector', query_vector: vector.slice(1) }, /query_vector/],
    ['too many dimensions', { query: 'x', query_vector: [...vector, 1] }, /query_vector/],
    ['an empty vector', { mode: 'vector', query_vector: [] }, /query_vector/],
    ['a vector of zeros', { mode: 'vector', query_vector: vector.map(() => 0) }, /query_vector/],
    ['a vector of texts', { mode: 'vector', query_vector: vector.map(String) }, /query_vector/],
    ['a vector with null', { mode: 'vector', query_vector: [null, ...vector.slice(1)] }, /query_vector/],
    ['a vector that is a number', { mode: 'vector', query_vector: 3 }, /query_vector/],
    ['a wrong vector in keyword mode', { mode: 'keyword', query: 'x', query_vector: [1] }, /query_vector/],
    ['no datasets', { query: 'x', datasets: [] }, /datasets/],
    ['datasets as text', { query: 'x', datasets: news }, /datasets/],
    ['an empty dataset', { query: 'x', datasets: [''] }, /datasets/],
    ['no platforms', { query: 'x', platforms: [] }, /platforms/],
    ['platforms of numbers', { query: 'x', platforms: [1] }, /platforms/],
    ['no languages', { query: 'x', languages: [] }, /languages/],
    ['a language with a blank', { query: 'x', languages: ['en', 'e n!'] }, /languages\.1 .*ISO 639-1.*"e n!"/],
    ['a language by its name', { query: 'x', languages: ['english'] }, /languages\.0 .*"english"/],
    ['two letters that are no language', { query: 'x', languages: ['zz'] }, /languages\.0 .*ISO 639-1.*"zz"/],
    ['a language in capitals', { query: 'x', languages: ['EN'] }, /languages\.0 .*"EN"/],
    ['a language with NUL', { query: 'x', languages: ['e\0'] }, /languages\.0 .*ISO 639-1/],
    ['a language of another type', { query: 'x', languages: [1] }, /languages\.0/],
    ['languages as text', { query: 'x', languages: 'en' }, /languages/],
    ['a start that is no time', { query: 'x', published_from: 'yesterday' }, /published_from/],
    ['a start that is a number', { query: 'x', published_from: 5 }, /published_from/],
    ['an end without a zone', { query: 'x', published_to: '2026-01-01T00:00:00' }, /published_to/],
    ['a day that does not exist', { query: 'x', published_to: '2026-02-30T00:00:00Z' }, /published_to/],
    [
      'a window that ends where it starts',
      { query: 'x', published_from: '2026-01-01T00:00:00Z', published_to: '2026-01-01T00:00:00Z' },
      /published_to/,
    ],
    [
      'a window turned round',
      { query: 'x', published_from: '2026-01-02T00:00:00Z', published_to: '2026-01-01T00:00:00Z' },
      /published_to/,
    ],
    ['a limit of 0', { query: 'x', limit: 0 }, /limit/],
    ['a limit of 101', { query: 'x', limit: 101 }, /limit/],
    ['half a limit', { query: 'x', limit: 1.5 }, /limit/],
    ['a limit as text', { query: 'x', limit: '5' }, /limit/],
    ['a cursor in vector mode', { query: 'x', mode: 'vector', cursor: 'c' }, /cursor/],
    ['a cursor in hybrid mode', { query: 'x', mode: 'hybrid', cursor: 'c' }, /cursor/],
    ['a cursor that is none', { query: 'x', cursor: 'c' }, /cursor/],
    ['an empty cursor', { query: 'x', cursor: '' }, /cursor/],
    ['a cursor of another type', { query: 'x', cursor: 3 }, /cursor/],
    ['no fields', { query: 'x', fields: [] }, /fields/],
    ['an unknown name in fields', { query: 'x', fields: ['title', 'metadata'] }, /fields/],
    ['a typo of no kind', { query: 'x', typo: 'sometimes' }, /typo/],
    ['a typo in vector mode', { query: 'x', mode: 'vector', typo: 'auto' }, /typo/],
    ['a typo in hybrid mode', { query: 'x', mode: 'hybrid', typo: 'always' }, /typo/],
    ['a prefix as text', { query: 'x', prefix: 'yes' }, /prefix/],
    ['a prefix in vector mode', { query: 'x', mode: 'vector', prefix: true }, /prefix/],
    ['a prefix in hybrid mode', { query: 'x', mode: 'hybrid', prefix: true }, /prefix/],
    ['explain as a number', { query: 'x', explain: 1 }, /explain/],
    ['highlights as text', { query: 'x', include_highlights: 'yes' }, /include_highlights/],
    ['chunks as a number', { query: 'x', include_chunks: 1 }, /include_chunks/],
    ['non-current as a text', { query: 'x', include_non_current: 'true' }, /include_non_current/],
  ]
  for (const [what, body, field] of bad) {
    test(what, async () => {
      for (const path of paths) await refused(await world.raw(body, path), field)
    })
  }

  test('a long query meets one limit, however long it is', async () => {
    for (const length of [1001, 10_001, 100_000]) {
      const answer = await world.raw({ query: 'x'.repeat(length) })
      await refused(answer, /^query must not be longer than 1000 characters/)
    }
    assert.equal((await world.search({ query: `harbour${' '.repeat(100_000)}` })).results.length, 2)
  })

  test('numbers that JSON cannot say', async () => {
    const text = (number: string) => `{"mode":"vector","query_vector":[${[number, ...vector.slice(1)].join()}]}`
    const headers = { authorization: `Bearer ${world.key}`, 'content-type': 'application/json' }
    for (const number of ['NaN', 'Infinity']) {
      const answer = await world.server.call('POST', '/v1/search', { headers, body: text(number) })
      await expectError(world.server, answer, 400, 'invalid_query')
    }
    // JSON parses it as infinity.
    await refused(await world.server.call('POST', '/v1/search', { headers, body: text('1e999') }), /query_vector/)
  })

  test('bodies that are no object, no JSON, or none', async () => {
    const headers = { authorization: `Bearer ${world.key}` }
    for (const body of ['[]', '"x"', 'null', '7', '{', '{"query":}']) {
      const answer = await world.server.call('POST', '/v1/search', {
        headers: { ...headers, 'content-type': 'application/json' },
        body,
      })
      await expectError(world.server, answer, 400, 'invalid_query')
    }
    const plain = await world.server.call('POST', '/v1/search', {
      headers: { ...headers, 'content-type': 'text/plain' },
      body: '{"query":"x"}',
    })
    await expectError(world.server, plain, 415, 'unsupported_media_type')
    await expectError(
      world.server,
      await world.server.call('GET', '/v1/search', { headers }),
      405,
      'method_not_allowed',
    )
    const parameter = await world.raw({ query: 'x' }, '/v1/search?limit=5')
    await expectError(world.server, parameter, 400, 'invalid_query')
  })

  test('a value that a list has again counts once', async () => {
    const lists = {
      datasets: [news],
      platforms: ['rss'],
      languages: ['en', 'de'],
      status: ['active', 'unavailable'],
      fields: ['title', 'language'],
      facets: ['language', { published_at: 'day' }],
    }
    const conditions = { topics: ['x'], tags: ['x'], classification_codes: ['x'] }
    const again = (asked: object) =>
      Object.fromEntries(Object.entries(asked).map(([name, list]) => [name, [...list, ...list, ...list]]))
    for (const mode of ['keyword', 'vector', 'hybrid']) {
      const asked = { query: 'harbour', mode, limit: 1 }
      const once = await world.search({ ...asked, ...lists })
      assert.equal(once.results.length, 1)
      const cursor = once.cursor === undefined ? {} : { cursor: once.cursor }
      assert.deepEqual({ ...(await world.search({ ...asked, ...again(lists) })), ...cursor }, once)
      if (mode !== 'keyword') continue
      const next = await world.search({ ...asked, ...again(lists), ...cursor })
      assert.equal(next.results.length, 1, 'a page can be continued with the value named once or again')
      await world.search({ ...asked, ...again(conditions) })
    }
    // The limit counts distinct values.
    const platforms = Array.from({ length: 200 }, (_, i) => `p${i}`)
    await world.search({ query: 'harbour', platforms: [...platforms, ...platforms] })
    await refused(await world.raw({ query: 'harbour', platforms: [...platforms, 'one more'] }), /platforms/)
  })

  test('what is just allowed', async () => {
    assert.equal((await world.search({ query: 'x'.repeat(1000) })).results.length, 0)
    assert.equal((await world.search({ query: '🌊'.repeat(1000) })).results.length, 0)
    assert.equal((await world.search({ query: `  ${'x'.repeat(1000)}  ` })).results.length, 0)
    assert.equal((await world.search({ query: 'harbour', limit: 1 })).results.length, 1)
    assert.equal((await world.search({ query: 'harbour', limit: 100 })).results.length, 2)
    // Only the direction of a vector counts, whatever its length.
    const plain = await world.search({ mode: 'vector', query_vector: vector })
    for (const scale of [1e-300, 1e-20, 1e30, 1e300]) {
      const scaled = await world.search({ mode: 'vector', query_vector: vector.map((value) => value * scale) })
      const scores = (found: typeof plain) => found.results.map(({ score }) => score.toFixed(6))
      assert.deepEqual(scores(scaled), scores(plain), `${scale}`)
    }
    assert.equal(vector.length, fakeDimensions)
  })
})

suite('live', () => {
  const live = { enabled: true, resource_kind: 'content' }
  const good = { query: 'harbour', datasets: [news], platforms: ['rss'], live }
  const send = (body: object, path: string = '/v1/search', idempotencyKey: string | null = 'k-1') =>
    world.server.call('POST', path, {
      headers: {
        authorization: `Bearer ${world.key}`,
        ...(idempotencyKey === null ? {} : { 'idempotency-key': idempotencyKey }),
      },
      body,
    })

  test('switched off it is as if it were not there', async () => {
    const plain = await world.search({ query: 'harbour' })
    const off = await send({ query: 'harbour', live: { ...live, enabled: false } }, '/v1/search', null)
    assert.equal(off.status, 200, off.text)
    assert.deepEqual(off.body, plain)
  })

  const bad: readonly (readonly [string, object, RegExp])[] = [
    ['enabled is missing', { ...good, live: { resource_kind: 'content' } }, /enabled/],
    ['enabled is no yes or no', { ...good, live: { ...live, enabled: 'true' } }, /enabled/],
    ['the kind is missing', { ...good, live: { enabled: true } }, /resource_kind/],
    ['an unknown kind', { ...good, live: { ...live, resource_kind: 'planet' } }, /resource_kind/],
    ['an unknown field', { ...good, live: { ...live, speed: 1 } }, /speed/],
    ['no dataset', { ...good, datasets: undefined }, /datasets/],
    ['two datasets', { ...good, datasets: [news, forum] }, /datasets/],
    ['no platform', { ...good, platforms: undefined }, /platforms/],
    ['an empty list of platforms', { ...good, platforms: [] }, /platforms/],
    ['six platforms', { ...good, platforms: ['a', 'b', 'c', 'd', 'e', 'f'] }, /platforms/],
    ['a deadline of 9 seconds', { ...good, live: { ...live, deadline_seconds: 9 } }, /deadline_seconds/],
    ['a deadline of 901 seconds', { ...good, live: { ...live, deadline_seconds: 901 } }, /deadline_seconds/],
    ['no items', { ...good, live: { ...live, max_items_per_platform: 0 } }, /max_items_per_platform/],
    ['too many items', { ...good, live: { ...live, max_items_per_platform: 100_000 } }, /max_items_per_platform/],
    ['live is no object', { ...good, live: true }, /live/],
  ]
  for (const [what, body, field] of bad) {
    test(`refused: ${what}`, async () => {
      await refused(await send(body), field)
      await refused(await send(body, '/v1/contents/search'), field)
    })
  }

  test('refused: no Idempotency-Key, an empty one, one too long, one that cannot be printed', async () => {
    await refused(await send(good, '/v1/search', null), /Idempotency-Key/)
    await refused(await send(good, '/v1/search', ''), /Idempotency-Key/)
    await refused(await send(good, '/v1/search', 'x'.repeat(256)), /Idempotency-Key/)
    await refused(await send(good, '/v1/search', 'caf\u00e9'), /Idempotency-Key/)
  })

  test('where nothing can collect, history is given, and it is said so', async () => {
    for (const kind of ['content', 'account', 'user', 'channel', 'video']) {
      const body = {
        ...good,
        platforms: ['rss', 'b', 'c', 'd', 'e'],
        live: { ...live, resource_kind: kind, deadline_seconds: 900, max_items_per_platform: 20 },
      }
      const answer = await send(body, '/v1/search', 'x'.repeat(255))
      assert.equal(answer.status, 200, answer.text)
      assert.equal(answer.body.degraded, true)
      assert.deepEqual(codes(answer.body), ['live_query_unavailable'])
      assert.equal(answer.body.live_query, null)
      assert.equal(answer.body.results.length, 2)
    }
  })

  test('history takes no live at all', async () => {
    await refused(await send(good, '/v1/search/history'), /live/)
    await refused(await send({ query: 'x', live: { ...live, enabled: false } }, '/v1/search/history'), /live/)
  })
})
