import assert from 'node:assert/strict'
import { mock, suite, test } from 'node:test'
import fc from 'fast-check'
import { fieldPermissions, type Scope } from '../access/scope.ts'
import { usualCosines } from '../embedding/embedder.ts'
import { analyse } from '../text/analyse.ts'
import { parseQuery } from '../text/parse-query.ts'
import { dayMs } from '../time.ts'
import { defaultWeights } from './fuse.ts'
import type { IndexSource } from './index-source.ts'
import { likelyCandidates } from './likely-candidates.ts'
import { searchLimits as limits } from './limits.ts'
import { rankAndPresent, rankLikely } from './rank-candidates.ts'
import { defaultRerankWeights } from './rerank.ts'
import type { FoundCandidate } from './score-candidates.ts'
import type { Ranking, ScoredCandidate, ShownParts } from './search-texts.ts'

interface Given {
  readonly keyword: number | null
  readonly cosine: number | null
  readonly title: string | null
  readonly text: string
  readonly language: string | null
  readonly quality: number | null
  readonly publishedAt: number | null
}

const nowMs = Date.parse('2026-11-18T00:00:00Z')
const scope: Scope = {
  entries: [
    {
      datasets: ['d'],
      platforms: null,
      languages: null,
      regions: null,
      publishedFrom: null,
      publishedTo: null,
      fields: fieldPermissions,
    },
  ],
}
const shown: ShownParts = { fields: new Set(['title', 'body']), highlights: false, chunks: false }

const rankingOf = (text: string, limit: number): Ranking => ({
  text,
  query: parseQuery(text, null),
  languages: ['en'],
  model: { languages: ['en', 'de'], cosines: usualCosines },
  isLanguageKnown: true,
  evidence: 0.8,
  weights: defaultWeights,
  rerankWeights: defaultRerankWeights,
  limit,
})

const scoredOf = ({ documentId, best, keyword, near }: FoundCandidate): ScoredCandidate => ({
  documentId,
  versionId: best.versionId,
  chunkId: best.chunkId,
  keyword,
  cosine: near?.score ?? null,
})

/** As the index tells of them. */
const found = (given: readonly Given[]): FoundCandidate[] =>
  given.map(({ keyword, cosine, title, language, publishedAt }, i) => ({
    documentId: `doc_${i}`,
    best: { chunkId: `chk_${i}`, versionId: `ver_${i}`, score: 0 },
    others: [],
    keyword,
    near: cosine === null ? null : { score: cosine },
    told: { language, publishedAt, titleLength: analyse(title ?? '', language).length },
    isFurther: false,
  }))

function storeOf(given: readonly Given[]) {
  const read: string[] = []
  const columnsOf = ({ language, publishedAt }: Given) =>
    ({
      datasetId: 'd',
      platform: 'p',
      region: null,
      contentType: null,
      status: 'active',
      language,
      publishedAt,
    }) as const
  const source: Pick<IndexSource, 'results' | 'versionHeads' | 'shownChunks'> = {
    results: async () =>
      given.map((one, i) => ({
        ...columnsOf(one),
        documentId: `doc_${i}`,
        title: one.title,
        quality: one.quality,
        currentVersionId: `ver_${i}`,
      })),
    versionHeads: async () => [],
    shownChunks: async (chunkIds) => {
      read.push(...chunkIds)
      return given.flatMap((one, i) => {
        if (!chunkIds.includes(`chk_${i}`)) return []
        const { title, text, language, quality } = one
        const ids = { chunkId: `chk_${i}`, documentId: `doc_${i}`, versionId: `ver_${i}` }
        return [{ ...ids, ordinal: 0, title, language, text, document: columnsOf(one), quality, details: null }]
      })
    },
  }
  return { source, read }
}

/** Of cosines from here to .95: the higher, the more can be among the best. */
const documentFrom = (cosineMin: number): fc.Arbitrary<Given> =>
  fc.record({
    keyword: fc.option(fc.integer({ min: 1, max: 40 }).map((tenths) => tenths / 10)),
    cosine: fc.option(fc.integer({ min: cosineMin * 1000, max: 950 }).map((thousandths) => thousandths / 1000)),
    title: fc.constantFrom(
      null,
      '',
      'Tidal Power',
      ' tidal power ',
      'The power',
      'tides',
      'a tidal power plant of the sea',
    ),
    text: fc.constantFrom('', 'tidal power', 'power of the tidal sea', 'nothing of it', 'the sea has tidal energy'),
    language: fc.constantFrom('en', 'en', 'de', 'fr', null),
    quality: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
    publishedAt: fc.option(fc.integer({ min: 0, max: 400 }).map((days) => nowMs - days * dayMs)),
  })

suite('candidates that can be among the best', () => {
  test('ranked alone they give the page that all give', async (t) => {
    mock.timers.enable({ apis: ['Date'], now: nowMs })
    t.after(() => mock.timers.reset())
    let compared = 0
    let withOthers = 0
    await fc.assert(
      fc.asyncProperty(
        fc
          .constantFrom(0.3, 0.93)
          .chain((from) => fc.array(documentFrom(from), { minLength: 1, maxLength: 200, size: 'max' })),
        fc.constantFrom('tidal power', 'The power', 'tidal power sea', '"tidal power"'),
        fc.constantFrom(1, 20, 40),
        async (given, text, limit) => {
          const candidates = found(given)
          const ranking = rankingOf(text, limit)
          const { source } = storeOf(given)
          const likely = likelyCandidates(candidates, ranking, nowMs, scoredOf)
          compared += 1
          if (likely!.byQuality.length > 0) withOthers += 1
          assert.deepEqual(
            await rankLikely(source, likely!, shown, scope),
            await rankAndPresent(
              source,
              { ...ranking, candidates: candidates.map(scoredOf), textsOf: 0 },
              shown,
              scope,
            ),
          )
        },
      ),
      { numRuns: 400 },
    )
    assert.ok(withOthers > 50, `${withOthers} of ${compared}`)
  })

  /** The fewer of their words and the farther, the worse. */
  const falling = Array.from(
    { length: 200 },
    (_, i): Given => ({
      keyword: i % 2 === 0 ? 20 - i / 10 : null,
      cosine: 0.9 - i / 400,
      title: 'a title of many words that nobody asks for',
      text: 'tidal power',
      language: 'en',
      quality: 0.5,
      publishedAt: null,
    }),
  )

  test('of many a few are read, and one with the query for a title wherever it stands', async () => {
    const given = falling.with(190, { ...falling[190]!, title: 'TIDAL power' })
    const { source, read } = storeOf(given)
    const likely = likelyCandidates(found(given), rankingOf('tidal power', 20), nowMs, scoredOf)
    const page = await rankLikely(source, likely!, shown, scope)
    assert.equal(page!.found[0]!.documentId, 'doc_190')
    assert.ok(read.length > limits.rerankMax && read.length < 1.5 * limits.rerankMax, `${read.length} were read`)
  })

  /** All but as near as each other, so that their quality decides. */
  const alike = falling.map((one, i): Given => ({ ...one, keyword: i < 8 ? 1 : null, cosine: 0.5 - i / 1e5 }))

  test('where many are likely, of most the quality is read alone, and the texts of those that it brings among the best', async () => {
    const given = alike
      .with(60, { ...alike[60]!, quality: 1, text: 'nothing of it' })
      .with(190, { ...alike[190]!, quality: 0 })
    const { source, read } = storeOf(given)
    const likely = likelyCandidates(found(given), rankingOf('tidal power', 20), nowMs, scoredOf)!
    assert.equal(likely.candidates.length + likely.byQuality.length, 200)
    const page = await rankLikely(source, likely, shown, scope)
    assert.equal(read.length, limits.rerankMax + 1)
    assert.ok(page!.found.length === 20 && read.includes('chk_60'))
  })

  test('an index that does not tell: none', () => {
    const candidates = found(falling)
    const untold = candidates.with(7, { ...candidates[7]!, told: undefined })
    assert.equal(likelyCandidates(untold, rankingOf('tidal power', 20), nowMs, scoredOf), null)
  })

  test('what the store says otherwise, or has no more, is not ranked by what was told', async () => {
    const candidates = found(falling)
    const likely = likelyCandidates(candidates, rankingOf('tidal power', 20), nowMs, scoredOf)!
    const changes: Partial<Given>[] = [{ language: 'de' }, { publishedAt: nowMs }]
    for (const change of changes) {
      const { source } = storeOf(falling.with(2, { ...falling[2]!, ...change }))
      assert.equal(await rankLikely(source, likely, shown, scope), null)
    }
    const { source } = storeOf(falling.slice(0, 20))
    assert.equal(await rankLikely(source, likely, shown, scope), null)
    const many = likelyCandidates(found(alike), rankingOf('tidal power', 20), nowMs, scoredOf)!
    for (const change of changes) {
      const { source } = storeOf(alike.with(150, { ...alike[150]!, ...change }))
      assert.equal(await rankLikely(source, many, shown, scope), null)
    }
    assert.equal(await rankLikely(storeOf(alike.slice(0, 150)).source, many, shown, scope), null)
  })
})
