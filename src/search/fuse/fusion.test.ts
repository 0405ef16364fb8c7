import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type CosineShape, defaultCosines } from '../../embedding/embedder.ts'
import { type Candidate, defaultWeights, extremesOf, type FusionWeights, fusion } from './fusion.ts'

const nowMs = Date.UTC(2026, 0, 1)
const dayMs = 86_400_000

const plain: Candidate = {
  keyword: null,
  cosine: null,
  quality: null,
  publishedAt: null,
  languageKnown: true,
  languages: 'same',
}
/** Scores all candidates against the extremes of all. */
const fuse = (candidates: readonly Candidate[], weights: FusionWeights, atMs: number, cosines?: CosineShape) =>
  candidates.map(fusion(extremesOf(candidates), weights, atMs, cosines))
const candidate = (fields: Partial<Candidate>): Candidate => ({ ...plain, ...fields })
const scored = (...fields: Partial<Candidate>[]): number[] =>
  fuse(fields.map(candidate), defaultWeights, nowMs).map(({ score }) => score)

const orNull = (values: fc.Arbitrary<number>): fc.Arbitrary<number | null> => fc.option(values, { nil: null })
const anyCandidate: fc.Arbitrary<Candidate> = fc.record({
  keyword: orNull(fc.double({ min: 0, max: 200, noNaN: true })),
  cosine: orNull(fc.double({ min: -1, max: 1, noNaN: true })),
  quality: orNull(fc.double({ min: 0, max: 1, noNaN: true })),
  publishedAt: orNull(fc.integer({ min: 0, max: nowMs + 1000 * dayMs })),
  languageKnown: fc.boolean(),
  languages: fc.constantFrom('same', 'unknown', 'other'),
})
const anyCandidates = fc.array(anyCandidate, { minLength: 1, maxLength: 12 })
const weight = fc.double({ min: 0, max: 1, noNaN: true })
const anyWeights: fc.Arbitrary<FusionWeights> = fc
  .record({ lexical: weight, vector: weight, quality: weight, recency: weight })
  .filter(({ lexical, vector, quality, recency }) => lexical + vector + quality + recency > 1e-6)

test('with weight 0, quality does not affect scores or their parts', () => {
  fc.assert(
    fc.property(anyCandidates, anyWeights, orNull(weight), (candidates, weights, quality) => {
      const others = candidates.map((one) => ({ ...one, quality }))
      const without = { ...weights, lexical: weights.lexical + 1, quality: 0 }
      assert.deepEqual(fuse(others, without, nowMs), fuse(candidates, without, nowMs))
    }),
  )
  assert.notDeepEqual(scored({ quality: 0.1 }), scored({ quality: 0.9 }))
})

test('every score is from 0 to 1 for any input', () => {
  const anything = fc.record({
    keyword: orNull(fc.double()),
    cosine: orNull(fc.double()),
    quality: orNull(fc.double()),
    publishedAt: orNull(fc.double()),
    languageKnown: fc.boolean(),
    languages: fc.constantFrom('same' as const, 'unknown' as const, 'other' as const),
  })
  fc.assert(
    fc.property(fc.array(fc.oneof(anything, anyCandidate)), anyWeights, (candidates, weights) => {
      const fused = fuse(candidates, weights, nowMs)
      assert.equal(fused.length, candidates.length)
      for (const { score, parts } of fused) {
        assert.ok(score >= 0 && score <= 1, String(score))
        const sum = Object.values(parts).reduce((total, part) => total + part, 0)
        assert.ok(Math.abs(sum - score) < 1e-12, `${sum} for ${score}`)
      }
    }),
  )
  assert.deepEqual(fuse([], defaultWeights, nowMs), [])
})

test('the order of the candidates changes nothing', () => {
  fc.assert(
    fc.property(anyCandidates, anyWeights, (candidates, weights) => {
      const reversed = fuse([...candidates].reverse(), weights, nowMs).reverse()
      assert.deepEqual(reversed, fuse(candidates, weights, nowMs))
    }),
  )
})

test('a higher value of any part never lowers a score', () => {
  const parts = fc.constantFrom('keyword', 'cosine', 'quality', 'publishedAt')
  fc.assert(
    fc.property(
      anyCandidates,
      anyWeights,
      parts,
      fc.double({ min: 0, max: 1, noNaN: true }),
      (all, weights, part, by) => {
        const [first, ...rest] = all as [Candidate, ...Candidate[]]
        const value = first[part]
        fc.pre(value !== null)
        const scale = { keyword: 200, cosine: 1 - value, quality: 1 - value, publishedAt: 1000 * dayMs }[part]
        const more = { ...first, [part]: value + by * scale }
        const before = fuse(all, weights, nowMs)[0]?.score
        const after = fuse([more, ...rest], weights, nowMs)[0]?.score
        assert.ok(after! >= before! - 1e-9, `${before} ${after}`)
      },
    ),
  )
})

test('if two candidates differ in one part, the better one ranks first', () => {
  const rest = { keyword: 3, cosine: 0.6, quality: 0.5, publishedAt: nowMs - 30 * dayMs }
  for (const better of [{ keyword: 4 }, { cosine: 0.7 }, { quality: 0.9 }, { publishedAt: nowMs - dayMs }]) {
    const [first, second] = scored({ ...rest, ...better }, rest)
    assert.ok(first! > second!, JSON.stringify(better))
  }
})

test('a document that only one branch found can compete', () => {
  const [words, near, both, weak] = scored(
    { keyword: 10, cosine: 0.5 },
    { keyword: null, cosine: 0.9 },
    { keyword: 8, cosine: 0.85 },
    { keyword: 1, cosine: 0.55 },
  )
  assert.ok(both! > words! && both! > near!)
  assert.ok(words! > weak! && near! > weak!)
})

test('words decide in a language that the model does not know', () => {
  const [hit, nearMiss, foreign] = scored(
    { keyword: 10, cosine: 0.4, languageKnown: false },
    { keyword: 3, cosine: 0.95, languageKnown: true },
    { keyword: 3, cosine: 0.99, languageKnown: false },
  )
  assert.ok(hit! > nearMiss! && nearMiss! > foreign!)
  const cosines = fc.double({ min: -1, max: 1, noNaN: true })
  fc.assert(
    fc.property(cosines, cosines, (one, other) => {
      const unknown = { keyword: 2, languageKnown: false }
      const known = { keyword: 5, cosine: 0.7 }
      assert.deepEqual(scored({ ...unknown, cosine: one }, known), scored({ ...unknown, cosine: other }, known))
    }),
  )
})

test('a missing vector costs little: the best matches by words stay ahead of near misses', () => {
  const [waiting, near, nearer] = scored(
    { keyword: 10, cosine: null },
    { keyword: 6, cosine: 0.8 },
    { keyword: 10, cosine: 0.8 },
  )
  assert.ok(nearer! > waiting! && waiting! > near!)
})

test('words weigh less across languages, and have a weight in between if a language is unknown', () => {
  const [words, near] = [
    { keyword: 10, cosine: 0.6 },
    { keyword: 4, cosine: 0.63 },
  ]
  for (const [languages, isWords] of [
    ['same', true],
    ['other', false],
  ] as const) {
    const [first, second] = scored({ ...words, languages }, { ...near, languages })
    assert.equal(first! > second!, isWords, languages)
  }
  const gain = (languages: Candidate['languages']): number => {
    const [first, second] = scored({ ...words, languages }, { ...near, languages })
    return first! - second!
  }
  assert.ok(gain('same') > gain('unknown') && gain('unknown') > gain('other'))
})

test('differences between cosines are relative to the range of the model', () => {
  const close = { unrelated: 0.72, related: 0.92 }
  const of = (cosines: CosineShape) =>
    fuse([candidate({ cosine: 0.9 }), candidate({ cosine: 0.84 })], defaultWeights, nowMs, cosines)
  const [wide, narrow] = [of(defaultCosines), of(close)]
  assert.ok(narrow[0]!.score - narrow[1]!.score > wide[0]!.score - wide[1]!.score)
})

test('a tiny difference between cosines does not outweigh words', () => {
  const [words, hair] = scored({ keyword: 10, cosine: 0.7 }, { keyword: 8, cosine: 0.71 })
  assert.ok(words! > hair!)
})
