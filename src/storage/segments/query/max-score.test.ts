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
import type { SegmentData } from '../format/segment-data.ts'
import { essentialTermsFor } from './max-score.ts'
import type { KeywordPlan, PlannedPhrase, PlannedWord } from './plan-keyword.ts'

const word = (number: number, weight: number): PlannedWord => ({
  type: 'word',
  number,
  terms: [{ term: 10 + number, weight }],
  prefixes: [],
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
/** In the shortest chunk, a word with frequency one scores half of its weight. */
const data = () => ({ chunks: 3, chunkLength: Uint32Array.from([20, 7, 9]) }) as unknown as SegmentData

test('the essential terms are the rarer words, and a common word that occurs more than once', () => {
  const essential = (threshold: number, more: Partial<KeywordPlan> = {}) =>
    essentialTermsFor({ ...plan, ...more })(data(), threshold)
  assert.equal(essential(0), null, 'while there are too few results')
  assert.equal(essential(0.5), null)
  const all = [
    { term: 12, codeMin: 0 },
    { term: 10, codeMin: 0 },
  ]
  assert.deepEqual(essential(1.01), all, 'the most common word alone does not reach the threshold')
  assert.deepEqual(essential(0.51), [{ term: 11, codeMin: 2 }, ...all], 'nor does a single occurrence of it')
  assert.deepEqual(essential(3.01), [
    { term: 12, codeMin: 2 },
    { term: 10, codeMin: 0 },
  ])
  assert.deepEqual(essential(5.01), [{ term: 10, codeMin: 0 }])
  assert.deepEqual(essential(11.01), [])
  const phrase = (groups: number[][]): PlannedPhrase => ({ type: 'phrase', number: 3, groups, weight: 2 })
  assert.deepEqual(
    essential(1.01, { boosts: [phrase([[11], [10]])] }),
    all,
    'a phrase does not occur without its rare word',
  )
  assert.equal(
    essential(1.01, { boosts: [phrase([[11], [99]])] }),
    null,
    'but it may have words that are no terms of the query',
  )
  assert.equal(essential(5, { mustNot: [word(3, 1)] }), null)
  assert.equal(essential(5, { any: [phrase([[10], [11]])] }), null)
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

/** A few words occur in most documents, and most words in few. */
const someWord = (random: () => number): string => `w${Math.floor(knownWords ** random())}`
const someWords = (random: () => number, count: number): string =>
  Array.from({ length: count }, () => someWord(random)).join(' ')

function queryFrom(random: () => number): KeywordQuery {
  const groups = Array.from({ length: 2 + Math.floor(random() * 3) }, () =>
    Array.from({ length: 1 + Math.floor(random() * 2.5) }, () => someWord(random)),
  )
  const clauses = groups.map((group, i): Clause => {
    const expansions = i === 1 ? [{ terms: [someWord(random), someWord(random)], factor: 0.5 }] : []
    return { type: 'word', kind: 'any', weight: 1, group, expansions }
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

test('skipped chunks are still counted, and the results are the same', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'segments-'))
  const layout = { sealChunks: 600, segmentChunks: 600 }
  const skipping = new InProcessSegments({ path: join(folder, 'skipping.db'), ...layout })
  const scoring = new InProcessSegments({ path: join(folder, 'scoring.db'), ...layout, skipFrom: Infinity })
  const random = randomFrom(5)
  const puts = Array.from({ length: documents }, (_, i) =>
    put(`d${i}`, [someWords(random, 8 + Math.floor(random() * 12))], {
      title: random() < 0.3 ? someWords(random, 2) : '',
      columns: { language: i % 3 === 0 ? 'fr' : 'en', publishedAt: i },
    }),
  )
  try {
    for (const index of [skipping, scoring]) {
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
      const page = await ask(skipping, null)
      assert.deepEqual(page, await ask(scoring, null))
      if (page.outcome !== 'found' || page.next === null) continue
      assert.deepEqual(await ask(skipping, page.next), await ask(scoring, page.next))
    }
    assert.ok((await skipping.health()).segments > 4)
  } finally {
    await Promise.all([skipping.close(), scoring.close()])
    rmSync(folder, { recursive: true, force: true })
  }
})
