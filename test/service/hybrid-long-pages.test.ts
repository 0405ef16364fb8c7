import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { documentsOf } from '../acceptance/content.ts'
import { fakeVector } from '../acceptance/fake-embedding.ts'
import { type Hit, type SearchWorld, sharedWorld } from '../acceptance/search-world.ts'

const dataset = 'long-pages'
const documentOf = documentsOf(dataset)
let world: SearchWorld

/** For every fifth document. */
const secondChunk = (i: number): string => (i % 5 === 0 ? `\n\n${`heron filler${i % 29} `.repeat(300)}` : '')

/** More documents than both branches find at first. The best by words are not the nearest by vector. */
before(async () => {
  world = await sharedWorld([dataset, 'long-texts'])
  const documents = Array.from({ length: 240 }, (_, i) => {
    const words = i < 120 ? `${'heron reeds '.repeat(1 + (i % 6))}frogs${i % 11} pond${i % 17}` : `heron mist${i % 13} `
    return documentOf(`long-${i}`, {
      title: `Page ${i}`,
      body: `${words} ${Array.from({ length: 1 + (i % 9) }, (_, nth) => `filler${(i * 7 + nth) % 29}`).join(' ')}${secondChunk(i)}`,
      language: 'en',
      quality: (i % 10) / 10,
      published_at: new Date(Date.UTC(2026, 0, 1, i)).toISOString(),
    })
  })
  await world.putIndexed(...documents)
})

const vectors = { 'of its own text': undefined, 'of another': fakeVector('mist1 mist2 mist3 filler4 filler5') }
const search = (limit: number, queryVector: number[] | undefined, more: object = {}) =>
  world.search({ query: 'heron reeds', mode: 'hybrid', limit, query_vector: queryVector, datasets: [dataset], ...more })
const ask = async (...asked: Parameters<typeof search>): Promise<readonly Hit[]> => (await search(...asked)).results

/** Recency changes a score slightly from one request to the next. */
const rounded = (hits: readonly Hit[]) => hits.map(({ document_id, score }) => [document_id, score.toFixed(6)] as const)

for (const [what, vector] of Object.entries(vectors)) {
  suite(`a long page of a hybrid search, with the vector ${what}`, () => {
    test('is full, ordered by score, and has each document once', async () => {
      const whole = await ask(100, vector)
      assert.equal(whole.length, 100)
      assert.equal(new Set(whole.map(({ document_id }) => document_id)).size, 100)
      for (let i = 1; i < whole.length; i++) assert.ok(whole[i - 1]!.score >= whole[i]!.score, `at ${i}`)
    })

    test('begins as every shorter one, with the same scores', async () => {
      const whole = rounded(await ask(100, vector))
      for (const limit of [1, 20, 25, 26, 50, 80]) {
        assert.deepEqual(rounded(await ask(limit, vector)), whole.slice(0, limit), `limit ${limit}`)
      }
    })

    test('has the counts of every shorter one, and for each document the same chunks', async () => {
      const more = { facets: ['language', 'dataset'], include_chunks: true }
      const whole = await search(100, vector, more)
      const chunksOf = (hits: readonly Hit[]) =>
        hits.map(({ document_id, matched_chunks }) => [document_id, matched_chunks])
      assert.ok(whole.results.some(({ matched_chunks }) => matched_chunks!.length > 1))
      for (const limit of [1, 20, 25, 26, 80]) {
        const { facets, results } = await search(limit, vector, more)
        assert.deepEqual(facets, whole.facets, `limit ${limit}`)
        assert.deepEqual(chunksOf(results), chunksOf(whole.results.slice(0, limit)), `limit ${limit}`)
      }
    })

    test('is the same where all candidates are counted, and where scores are explained', async () => {
      for (const limit of [20, 100]) {
        const page = rounded(await ask(limit, vector))
        assert.deepEqual(rounded(await ask(limit, vector, { facets: ['platform'] })), page)
        const explained = await ask(limit, vector, { explain: true })
        assert.deepEqual(rounded(explained), page)
        for (const { score, explanation } of explained) {
          const sum = Object.values(explanation!.rerank!).reduce((total, part) => total + part, 0)
          assert.ok(Math.abs(sum - score) < 1e-9, `${sum} explains ${score}`)
        }
      }
    })
  })
}

suite('long documents of which few match by words', () => {
  const longTexts = documentsOf('long-texts')
  const wordsOf = (i: number, chunk: number) =>
    `tide${i % 7} gate${(i + chunk) % 5} `.concat(`mud${i} silt${chunk} `.repeat(110))

  before(async () => {
    const documents = Array.from({ length: 60 }, (_, i) =>
      longTexts(`long-text-${i}`, {
        title: `Report ${i}`,
        body: Array.from({ length: 3 }, (_, chunk) => wordsOf(i, chunk)).join('\n\n'),
        language: 'en',
      }),
    )
    await world.putIndexed(...documents)
  })

  for (const limit of [20, 25, 26, 50]) {
    test(`a page of ${limit} is full`, async () => {
      const query_vector = fakeVector('tide1 gate2 silt1 silt2 silt3')
      const found = await world.search({ query: 'mud7', mode: 'hybrid', limit, query_vector, datasets: ['long-texts'] })
      assert.equal(found.results.length, limit)
    })
  }
})
