import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { InProcessSegments } from '../../../../test/contracts/in-process-segments.ts'
import { entry, put } from '../../../../test/contracts/index-under-test.ts'
import type { ScopeEntry } from '../../../access/scope.ts'
import { type KeywordPosition, noFilters } from '../../../search/search-index.ts'
import type { Clause, KeywordQuery } from '../../../text/types.ts'
import type { SegmentImage } from '../format/segment-image.ts'
import type { KeywordPlan, PlannedPhrase, PlannedWord } from './plan-keyword.ts'
import { sievesFor } from './sift-chunks.ts'

const word = (number: number, weight: number): PlannedWord => ({
  type: 'word',
  number,
  terms: [{ term: 10 + number, weight }],
  beginnings: [],
})
const plan: KeywordPlan = {
  must: [],
  any: [word(0, 6), word(1, 1), word(2, 4)],
  mustNot: [],
  boosts: [],
  clauses: 3,
  empty: false,
  titleWeight: 3,
  normBase: 0.3,
  normStep: 0.1,
}
/** In the shortest chunk, a word that stands once scores half of its weight. */
const image = () => ({ chunks: 3, chunkLength: Uint32Array.from([20, 7, 9]) }) as unknown as SegmentImage

test('what is scored is what the rarer words are in, and a common one more than once', () => {
  const sieve = (threshold: number, more: Partial<KeywordPlan> = {}) =>
    sievesFor({ ...plan, ...more })(image(), threshold)
  assert.equal(sieve(0), null, 'as long as there are too few results')
  assert.equal(sieve(0.5), null)
  const all = [
    { term: 12, codeLeast: 0 },
    { term: 10, codeLeast: 0 },
  ]
  assert.deepEqual(sieve(1.01), all, 'the most common word never leads there')
  assert.deepEqual(sieve(0.51), [{ term: 11, codeLeast: 2 }, ...all], 'nor where it stands once')
  assert.deepEqual(sieve(3.01), [
    { term: 12, codeLeast: 2 },
    { term: 10, codeLeast: 0 },
  ])
  assert.deepEqual(sieve(5.01), [{ term: 10, codeLeast: 0 }])
  assert.deepEqual(sieve(11.01), [])
  const phrase = (groups: number[][]): PlannedPhrase => ({ type: 'phrase', number: 3, groups, weight: 2 })
  assert.deepEqual(sieve(1.01, { boosts: [phrase([[11], [10]])] }), all, 'a phrase is nowhere without its rare word')
  assert.equal(sieve(1.01, { boosts: [phrase([[11], [99]])] }), null, 'but may be with words that nobody asked for')
  assert.equal(sieve(5, { mustNot: [word(3, 1)] }), null)
  assert.equal(sieve(5, { any: [phrase([[10], [11]])] }), null)
})

const documents = 4000
const knownWords = 300

function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** Some are in most documents, most in few. */
const someWord = (random: () => number): string => `w${Math.floor(knownWords ** random())}`
const someWords = (random: () => number, count: number): string =>
  Array.from({ length: count }, () => someWord(random)).join(' ')

function queryFrom(random: () => number): KeywordQuery {
  const groups = Array.from({ length: 2 + Math.floor(random() * 3) }, () =>
    Array.from({ length: 1 + Math.floor(random() * 2.5) }, () => someWord(random)),
  )
  const clauses = groups.map((group, i): Clause => {
    const loose = i === 1 ? [{ terms: [someWord(random), someWord(random)], factor: 0.5 }] : []
    return { type: 'word', kind: 'any', weight: 1, group, loose }
  })
  const boosts = groups
    .slice(1)
    .map((group, i): Clause => ({ type: 'phrase', kind: 'any', weight: 0.3, groups: [groups[i]!, group] }))
  return { clauses, boosts: random() < 0.7 ? boosts : [] }
}

const scopes: readonly Partial<ScopeEntry>[] = [
  {},
  { languages: ['fr'] },
  { publishedFrom: 700, publishedTo: 3100 },
  { fields: ['body'] },
]

test('chunks that need not be scored are found and counted all the same', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'segments-'))
  const layout = { sealChunks: 600, segmentChunks: 600 }
  const sifting = new InProcessSegments({ path: join(folder, 'simd.db'), ...layout, kernel: 'simd' })
  const scoring = new InProcessSegments({ path: join(folder, 'plain.db'), ...layout, kernel: 'plain' })
  const random = randomFrom(5)
  const puts = Array.from({ length: documents }, (_, i) =>
    put(`d${i}`, [someWords(random, 8 + Math.floor(random() * 12))], {
      title: random() < 0.3 ? someWords(random, 2) : '',
      columns: { language: i % 3 === 0 ? 'fr' : 'en', publishedAt: i },
    }),
  )
  try {
    for (const index of [sifting, scoring]) {
      for (let i = 0; i < documents; i += 500) await index.apply({ position: i + 1, changes: puts.slice(i, i + 500) })
      const retired = Array.from({ length: 60 }, (_, i) => ({
        kind: 'retire_document' as const,
        documentId: `d${i * 61}`,
      }))
      await index.apply({ position: documents, changes: retired })
    }
    for (let i = 0; i < 200; i++) {
      const query = queryFrom(random)
      const scope = { entries: [{ ...entry, ...scopes[i % scopes.length] }] }
      const ask = (index: InProcessSegments, after: KeywordPosition | null) =>
        index.keyword({ query, scope, filters: noFilters, timeoutMs: 60_000, limit: 5, after, otherChunksMax: 0 })
      const page = await ask(sifting, null)
      assert.deepEqual(page, await ask(scoring, null))
      if (page.outcome !== 'found' || page.next === null) continue
      assert.deepEqual(await ask(sifting, page.next), await ask(scoring, page.next))
    }
    assert.ok((await sifting.health()).segments > 4)
  } finally {
    await Promise.all([sifting.close(), scoring.close()])
    rmSync(folder, { recursive: true, force: true })
  }
})
