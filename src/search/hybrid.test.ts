import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plainColumns } from '../../test/support/plain-columns.ts'
import type { FieldPermission, Scope } from '../access/scope.ts'
import { defaultCosines, type Embedder } from '../embedding/embedder.ts'
import { QueryCache } from '../embedding/query-cache.ts'
import { FairSlots } from '../fair-queue/fair-slots.ts'
import type { SearchIndex } from '../indexing/fed-index.ts'
import { UnavailableError } from '../platform/errors.ts'
import { defaultWeights } from './fuse/fusion.ts'
import { searchLimits } from './limits.ts'
import { checkSearch } from './parse/search-request.ts'
import { countCandidates } from './present/count-candidates.ts'
import type { FoundDocument } from './present/found-document.ts'
import { presentResults } from './present/present-results.ts'
import { rankCandidates } from './rerank/rank-candidates.ts'
import { defaultRerankWeights } from './rerank/reranker.ts'
import type { SearcherParts } from './running-search.ts'
import type { DocumentHit, DocumentScores, KeywordRequest, ScoreRequest, VectorRequest } from './search-index.ts'
import type { ChunkText, ResultDocument, SearchSource, ShownChunk, VersionHead } from './search-source.ts'
import type { SearchTexts } from './search-texts.ts'
import { Searcher } from './searcher.ts'

/** A document with given scores. The tests check how hybrid search combines the scores. */
interface Given {
  readonly id: string
  readonly keyword?: number
  /** The part that each clause of the query adds, if the index returns parts. */
  readonly parts?: readonly number[]
  readonly cosine?: number
  readonly title?: string
  readonly text?: string
  readonly language?: string
  /** The current state of the document, if the version that was found is an earlier one. */
  readonly now?: { readonly title: string; readonly language: string }
}

const scopeOf = (fields: readonly FieldPermission[]): Scope => ({
  entries: [
    {
      datasets: ['news'],
      platforms: null,
      languages: null,
      regions: null,
      publishedFrom: null,
      publishedTo: null,
      fields,
    },
  ],
})
const all = scopeOf(['title', 'body'])

function searcherOver(
  given: readonly Given[],
  parts: Partial<SearcherParts> = {},
  scored: (request: ScoreRequest) => void = () => {},
): Searcher {
  const chunk = (id: string, score: number) => ({ chunkId: `chunk-${id}`, versionId: `version-${id}`, score })
  const hits = (score: (one: Given) => number | undefined) =>
    given.flatMap((one) => {
      const value = score(one)
      return value === undefined ? [] : [{ documentId: one.id, ...chunk(one.id, value), otherChunks: [] }]
    })
  const best = (count: number, found: DocumentHit[]) => found.sort((a, b) => b.score - a.score).slice(0, count)
  const index = {
    keyword: async ({ limit }: KeywordRequest) => ({
      outcome: 'found',
      hits: best(
        limit,
        hits(({ keyword }) => keyword),
      ),
      totalChunks: 0,
      next: null,
    }),
    vector: async ({ topK }: VectorRequest) => ({
      outcome: 'found',
      hits: best(
        topK,
        hits(({ cosine }) => cosine),
      ),
    }),
    score: async (request: ScoreRequest) => {
      scored(request)
      const { documentIds, explain, vectors } = request
      const scores = given
        .filter(({ id }) => documentIds.includes(id))
        .map(
          ({ id, keyword, parts, cosine }): DocumentScores => ({
            documentId: id,
            keyword:
              keyword === undefined
                ? null
                : { ...chunk(id, keyword), ...(parts && explain?.includes(id) ? { parts } : {}) },
            vectors: vectors.map(() => (cosine === undefined ? null : chunk(id, cosine))),
          }),
        )
      return { outcome: 'found', scores }
    },
  } as unknown as SearchIndex
  const textOf = ({ id, title, text = '', language = 'en' }: Given): ChunkText => ({
    chunkId: `chunk-${id}`,
    documentId: id,
    versionId: `version-${id}`,
    ordinal: 0,
    title: title ?? null,
    language,
    text,
  })
  const source = {
    results: async (documentIds: readonly string[]) =>
      given
        .filter(({ id }) => documentIds.includes(id))
        .map(
          ({ id, title = null, language = 'en', now }): ResultDocument => ({
            documentId: id,
            ...plainColumns,
            datasetId: 'news',
            language: now?.language ?? language,
            title: now?.title ?? title,
            quality: null,
            currentVersionId: now === undefined ? `version-${id}` : `now-${id}`,
          }),
        ),
    versionHeads: async (versionIds: readonly string[]) =>
      given
        .filter(({ id }) => versionIds.includes(`version-${id}`))
        .map(({ id, title = null, language = 'en' }): VersionHead => ({ versionId: `version-${id}`, title, language })),
    chunkTexts: async (chunkIds: readonly string[]) =>
      given.filter(({ id }) => chunkIds.includes(`chunk-${id}`)).map(textOf),
    shownChunks: async (chunkIds: readonly string[]) =>
      given
        .filter(({ id }) => chunkIds.includes(`chunk-${id}`))
        .map((one): ShownChunk => {
          const text = textOf(one)
          const document = { ...plainColumns, datasetId: 'news', language: text.language }
          return { ...text, document, details: null }
        }),
  } as unknown as SearchSource
  const embedder: Embedder = {
    profileId: 'p',
    model: 'm',
    dimensions: 2,
    languages: ['en'],
    cosines: defaultCosines,
    embed: async (texts) => texts.map(() => Float32Array.of(1, 0)),
    close: async () => {},
  }
  const cache = new QueryCache()
  const weights = { weights: defaultWeights, rerankWeights: defaultRerankWeights }
  return new Searcher({
    index,
    texts: {
      rank: (...request) => rankCandidates(source, ...request),
      count: (...request) => countCandidates(source, ...request),
      present: (...request) => presentResults(source, ...request),
    } satisfies SearchTexts,
    embedder,
    others: () => [],
    cache,
    ...weights,
    crossEncoder: null,
    slots: new FairSlots(1),
    isRefilling: () => false,
    isBehind: () => false,
    ...parts,
  })
}

async function search(
  searcher: Searcher,
  query: string,
  limit = 20,
  scope: Scope = all,
): Promise<readonly FoundDocument[]> {
  const caller = { id: 'application', signal: new AbortController().signal }
  const { found } = await searcher.search(checkSearch({ query, limit }, 'hybrid', 2), scope, null, caller)
  return found
}
const ids = (found: readonly FoundDocument[]): string[] => found.map(({ documentId }) => documentId)

/** More documents than are reranked or sent to a cross-encoder. */
const many: Given[] = Array.from({ length: 150 }, (_, i) => ({
  id: `d${String(i).padStart(3, '0')}`,
  ...(i % 3 === 0 ? {} : { keyword: 20 - i / 10 }),
  ...(i % 5 === 0 ? {} : { cosine: 0.9 - i / 400 }),
  text: i % 4 === 0 ? 'tidal power of the sea' : 'the tidal sea has power',
}))

test('scores and order do not depend on the limit', async () => {
  const crossEncoder = { scores: async (_: string, texts: readonly string[]) => texts.map((_, i) => 1 / (i + 2)) }
  for (const parts of [{}, { crossEncoder }]) {
    const searcher = searcherOver(many, parts)
    const whole = await search(searcher, 'tidal power', 100)
    assert.equal(whole.length, 100)
    for (const limit of [1, 7, 50]) {
      assert.deepEqual(await search(searcher, 'tidal power', limit), whole.slice(0, limit))
    }
    for (const { score, rerankScore } of whole) assert.ok(score === rerankScore && score >= 0 && score <= 1)
    const scores = whole.map(({ score }) => score)
    assert.deepEqual(
      scores,
      [...scores].sort((a, b) => b - a),
    )
  }
})

test('the parts of a score add up, with a cross-encoder and without', async () => {
  const sum = (parts: Readonly<Record<string, number>> = {}) =>
    Object.values(parts).reduce((total, part) => total + part, 0)
  const titled = [{ id: 'titled', keyword: 1, cosine: 0.3, title: 'Tidal power' }, ...many]
  const crossEncoder = { scores: async (_: string, texts: readonly string[]) => texts.map((_, i) => 1 / (i + 2)) }
  const caller = { id: 'application', signal: new AbortController().signal }
  for (const parts of [{}, { crossEncoder }]) {
    const request = checkSearch({ query: 'tidal power', limit: 100, explain: true }, 'hybrid', 2)
    const { found } = await searcherOver(titled, parts).search(request, all, null, caller)
    assert.equal(found.length, 100)
    for (const { score, vectorScore, explanation } of found) {
      const { vector, fusion, rerank } = explanation!
      assert.ok(Math.abs(sum(rerank) - score) < 1e-12)
      assert.equal(vector?.cosine ?? null, vectorScore)
      const scale = rerank!.exact === 0.9 ? 0.1 : 0.9
      const fused = rerank!.fused
      if ('crossEncoder' in parts || fused === undefined) continue
      assert.ok(Math.abs((fused / scale) * (1 + sum({ ...defaultRerankWeights })) - sum(fusion)) < 1e-12)
    }
  }
  assert.equal((await search(searcherOver(titled), 'tidal power'))[0]!.explanation, null)
})

test('with several models, the explanation has the cosine of each and its part of the score', async () => {
  const embed = async () => [Float32Array.of(1, 0)]
  const cosines = { unrelated: 0.7, related: 0.9 }
  const second = { profileId: 'q', languages: null, dimensions: 2, cosines, embed } as unknown as Embedder
  const others = () => [{ embedder: second, role: 'besides' as const }]
  const caller = { id: 'application', signal: new AbortController().signal }
  for (const mode of ['vector', 'hybrid'] as const) {
    const request = checkSearch({ query: 'tidal power', explain: true }, mode, 2)
    const searcher = searcherOver([{ id: 'a', keyword: 2, cosine: 0.8 }], { others })
    const [found] = (await searcher.search(request, all, null, caller)).found
    const { vector, cosines: each } = found!.explanation!
    assert.deepEqual(each, { p: 0.8, q: 0.8 })
    // Halfway between unrelated and related for the second profile is .6 in terms of the first.
    assert.deepEqual(Object.keys(vector!), ['p', 'q'])
    assert.ok(Math.abs(vector!.p! - 0.4) < 1e-12 && Math.abs(vector!.q! - 0.3) < 1e-12)
    assert.ok(Math.abs(vector!.p! + vector!.q! - found!.vectorScore!) < 1e-12)
  }
})

test('an exact title ranks before near misses of both branches', async () => {
  const exact = { id: 'exact', keyword: 4, cosine: 0.6, title: 'Tidal power' }
  const found = await search(searcherOver([...many.slice(0, 50), exact]), 'tidal power')
  assert.equal(found[0]!.documentId, 'exact')
})

test('the best candidate by words is reranked even if its vector is far', async () => {
  const near = Array.from({ length: 100 }, (_, i) => ({ id: `n${i}`, keyword: 6, cosine: 0.9, text: 'tidal' }))
  const exact = { id: 'exact', keyword: 7, cosine: 0.1, text: 'the great tidal power plant' }
  const found = await search(searcherOver([...near, exact]), 'great tidal power plant')
  assert.equal(found[0]!.documentId, 'exact')
})

test('a title or body that the caller may not read does not affect the score', async () => {
  const given = [
    { id: 'a', keyword: 5, cosine: 0.7, title: 'Storms', text: 'tidal power' },
    { id: 'b', keyword: 5, cosine: 0.7, title: 'Tidal power', text: 'storms' },
  ]
  const order = async (fields: readonly FieldPermission[]) =>
    (await search(searcherOver(given), 'tidal power', 20, scopeOf(fields))).map(({ documentId, score }) => ({
      documentId,
      score,
    }))
  assert.equal((await order(['title', 'body']))[0]!.documentId, 'b')
  assert.equal((await order(['body']))[0]!.documentId, 'a')
  assert.equal((await order(['title']))[0]!.documentId, 'b')
  const [first, second] = await order(['author'])
  assert.equal(first!.score, second!.score)
})

test('a title that the caller may not read does not select a document for reranking', async () => {
  const last = { id: 'last', keyword: 1, cosine: 0.1, text: 'tidal power' }
  const scores = async (title: string, fields: readonly FieldPermission[]) =>
    (await search(searcherOver([...many.slice(0, 60), { ...last, title }]), 'tidal power', 100, scopeOf(fields))).map(
      ({ documentId, score }) => [documentId, score],
    )
  assert.deepEqual(await scores('Tidal power', ['body']), await scores('Storms', ['body']))
  assert.notDeepEqual(await scores('Tidal power', ['title', 'body']), await scores('Storms', ['title', 'body']))
})

test('the score of an earlier version does not reveal the current title or language', async () => {
  const given = [
    { id: 'a', keyword: 5, cosine: 0.7, title: 'Storms', text: 'of the sea', language: 'en' },
    { id: 'b', keyword: 4, cosine: 0.9, title: 'Waves', text: 'tidal power', language: 'en' },
  ]
  const english: Scope = { entries: [{ ...all.entries[0]!, languages: ['en'] }] }
  const found = async (now: Given['now']) =>
    (await search(searcherOver(given.map((one) => ({ ...one, ...(now && { now }) }))), 'tidal power', 20, english)).map(
      ({ documentId, score }) => [documentId, score],
    )
  assert.deepEqual(await found({ title: 'Tidal power', language: 'de' }), await found(undefined))
})

test('texts that the caller may not read are not sent to a cross-encoder', async () => {
  const sent: string[] = []
  const crossEncoder = {
    scores: async (_: string, texts: readonly string[]) => {
      sent.push(...texts)
      return texts.map(() => 0.5)
    },
  }
  const given = [{ id: 'a', keyword: 5, cosine: 0.7, title: 'secret title', text: 'body' }]
  await search(searcherOver(given, { crossEncoder }), 'tidal power', 20, scopeOf(['body']))
  assert.deepEqual(sent, ['body'])
})

test('words decide in a language that the model does not know', async () => {
  const german = { id: 'german', keyword: 9, cosine: 0.3, text: 'Die Kraft der Gezeiten', language: 'de' }
  const english = { id: 'english', keyword: 5, cosine: 0.95, text: 'The power of tides', language: 'en' }
  assert.deepEqual(ids(await search(searcherOver([german, english]), 'Was ist die Kraft der Gezeiten?')), [
    'german',
    'english',
  ])
  // The cosine of an English document with a German query does not count either.
  const other = { ...english, id: 'other', keyword: 6, cosine: 0.2 }
  assert.deepEqual(ids(await search(searcherOver([english, other]), 'Was ist die Kraft der Gezeiten?')), [
    'other',
    'english',
  ])
})

test('words decide if the best match has many words of the query, and vectors if it has few', async () => {
  const question = 'harbour engine bridge violin planet treaty market season protein theory'
  const first = async (found: number) => {
    const parts = Array.from({ length: 10 }, (_, i) => (i < found ? 12 / found : 0))
    const searcher = searcherOver([
      { id: 'words', keyword: 12, parts, cosine: 0.7 },
      { id: 'near', keyword: 4, cosine: 0.74 },
    ])
    return ids(await search(searcher, question))[0]
  }
  assert.equal(await first(10), 'words')
  assert.equal(await first(4), 'words')
  assert.equal(await first(1), 'near')
})

test('required and excluded words apply to documents of the vector branch', async () => {
  const given = [
    { id: 'words', keyword: 5, cosine: 0.5, text: 'tidal plants' },
    { id: 'near', cosine: 0.95, text: 'tidal power' },
  ]
  assert.deepEqual(ids(await search(searcherOver(given), 'tidal -power')), ['words'])
  assert.deepEqual(ids(await search(searcherOver(given), '+plants tidal')), ['words'])
  assert.equal((await search(searcherOver(given), 'tidal plants')).length, 2)
})

test('a cross-encoder decides the order of the best, and the others stay below', async () => {
  const requests: number[] = []
  const crossEncoder = {
    scores: async (_: string, texts: readonly string[]) => {
      requests.push(texts.length)
      return texts.map((_, i) => (i + 1) / 100)
    },
  }
  const own = ids(await search(searcherOver(many), 'tidal power', 100))
  const found = await search(searcherOver(many, { crossEncoder }), 'tidal power', 100)
  const { rerankMax } = searchLimits
  assert.deepEqual(requests, [rerankMax])
  assert.deepEqual(ids(found), [...own.slice(0, rerankMax).reverse(), ...own.slice(rerankMax)])
  assert.equal(found[0]!.rerankScore, rerankMax / 100)
})

test('the order of the built-in reranker stays if the cross-encoder is unavailable', async () => {
  const own = await search(searcherOver(many), 'tidal power', 100)
  const crossEncoder = { scores: () => Promise.reject(new UnavailableError('down')) }
  assert.deepEqual(await search(searcherOver(many, { crossEncoder }), 'tidal power', 100), own)
})

test('the parts of the best match are only requested if they matter', async () => {
  const requests: ScoreRequest[] = []
  const searcher = searcherOver([{ id: 'a', keyword: 2, cosine: 0.8, text: 'tidal power' }], {}, (request) => {
    requests.push(request)
  })
  await search(searcher, 'tidal power')
  assert.deepEqual(requests, [])
  await search(searcher, 'tidal power of the sea')
  assert.deepEqual(
    requests.map(({ documentIds, explain }) => ({ documentIds, explain })),
    [{ documentIds: ['a'], explain: ['a'] }],
  )
})

test('each branch scores only the documents that only the other found', async () => {
  const requests: ScoreRequest[] = []
  const given = [
    { id: 'both', keyword: 3, parts: [1, 1, 1, 0], cosine: 0.9 },
    { id: 'words', keyword: 4, parts: [1, 1, 1, 1], text: 'tidal power' },
    { id: 'near', cosine: 0.8 },
  ]
  const query = 'tidal power of the sea'
  const found = await search(
    searcherOver(given, {}, (request) => requests.push(request)),
    query,
  )
  assert.deepEqual(ids(found).sort(), ['both', 'near', 'words'])
  assert.deepEqual(
    requests.map(({ documentIds, explain, vectors }) => ({ documentIds, explain, profiles: vectors.map(profileOf) })),
    [
      { documentIds: ['words', 'near'], explain: ['words'], profiles: [] },
      { documentIds: ['words'], explain: undefined, profiles: ['p'] },
    ],
  )
})

const profileOf = ({ profileId }: { readonly profileId: string }): string => profileId
