import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { plainColumns } from '../../test/support/plain-columns.ts'
import { fieldPermissions, type Scope } from '../access/scope.ts'
import { defaultCosines, type Embedder } from '../embedding/embedder.ts'
import { EmbeddingError } from '../embedding/embedding-error.ts'
import { QueryCache } from '../embedding/query-cache.ts'
import { FairSlots } from '../fair-queue/fair-slots.ts'
import type { SearchIndex } from '../indexing/fed-index.ts'
import { TidemarkError, UnavailableError } from '../platform/errors.ts'
import { defaultWeights } from './fuse/fusion.ts'
import { searchLimits } from './limits.ts'
import { checkSearch, type Mode } from './parse/search-request.ts'
import { countCandidates } from './present/count-candidates.ts'
import { presentResults } from './present/present-results.ts'
import { rankCandidates } from './rerank/rank-candidates.ts'
import { defaultRerankWeights } from './rerank/reranker.ts'
import type { SearcherParts } from './running-search.ts'
import type { KeywordRequest, VectorRequest } from './search-index.ts'
import type { SearchSource } from './search-source.ts'
import type { SearchTexts } from './search-texts.ts'
import { Searcher } from './searcher.ts'

/** Every mode with every combination of failing branches. */
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
const caller = { id: 'application', signal: new AbortController().signal }
type BranchOutcome = 'found' | 'timed_out' | 'unavailable' | 'throws'
const hit = (documentId: string) => ({
  documentId,
  chunkId: `c-${documentId}`,
  versionId: 'v',
  score: 0.5,
  otherChunks: [],
})

function searcherOf(
  keyword: BranchOutcome,
  vector: BranchOutcome,
  embeds = true,
  dimensions: number | null = 2,
  isRefilling = () => false,
  own: Partial<SearcherParts> = {},
) {
  const requests: VectorRequest[] = []
  const outcome = (result: BranchOutcome, documentId: string) => {
    if (result === 'throws') throw new Error('broken')
    if (result !== 'found') return { outcome: result, reason: 'r' }
    return { outcome: 'found', hits: [hit(documentId)], totalChunks: 1, next: null, scores: [] }
  }
  const index = {
    keyword: async () => outcome(keyword, 'k'),
    vector: async (request: VectorRequest) => {
      requests.push(request)
      return outcome(vector, 'v')
    },
    score: async () => ({ outcome: 'found', scores: [] }),
  } as unknown as SearchIndex
  const source = {
    results: async (ids: readonly string[]) =>
      ids.map((documentId) => ({
        documentId,
        ...plainColumns,
        title: documentId,
        quality: null,
        currentVersionId: 'v',
      })),
    chunkTexts: async () => [],
    shownChunks: async () => [],
  } as unknown as SearchSource
  const embed: Embedder['embed'] = async (texts) => {
    if (!embeds) throw new EmbeddingError('unavailable', 'down')
    return texts.map(() => Float32Array.of(1, 0))
  }
  const embedder = {
    profileId: 'm',
    dimensions,
    languages: null,
    cosines: defaultCosines,
    embed,
  } as unknown as Embedder
  const parts = {
    index,
    texts: {
      rank: (...request) => rankCandidates(source, ...request),
      count: (...request) => countCandidates(source, ...request),
      present: (...request) => presentResults(source, ...request),
    } satisfies SearchTexts,
    embedder,
    others: () => [],
    cache: new QueryCache(),
    crossEncoder: null,
    slots: new FairSlots(1),
    isRefilling,
    isBehind: () => false,
    ...own,
  }
  const searcher = new Searcher({ ...parts, weights: defaultWeights, rerankWeights: defaultRerankWeights })
  return { searcher, requests, index }
}

/** `503`, `defect`, or the documents found and the degradations. */
async function answer(
  searcher: Searcher,
  mode: Mode,
  body: { query?: string; query_vector?: number[] },
): Promise<string> {
  try {
    const { found, degradations } = await searcher.search(checkSearch({ mode, ...body }, null, 2), scope, null, caller)
    return [
      found
        .map(({ documentId }) => documentId)
        .sort()
        .join('+') || 'none',
      ...degradations.map(({ code }) => code),
    ].join(' ')
  } catch (error) {
    if (error instanceof Error && error.message === 'broken') return 'defect'
    assert.ok(error instanceof TidemarkError, String(error))
    assert.equal(error.code, 'search_backend_unavailable')
    assert.ok(error.cause instanceof UnavailableError, 'the error has a cause for the log')
    return '503'
  }
}

const text = { query: 'word' }
const own = { query_vector: [1, 0] }
const cases: readonly (readonly [Mode, object, BranchOutcome, BranchOutcome, boolean, string])[] = [
  ['keyword', text, 'found', 'throws', false, 'k'],
  ['keyword', text, 'timed_out', 'found', true, 'none keyword_search_timed_out'],
  ['keyword', text, 'unavailable', 'found', true, '503'],
  ['vector', text, 'throws', 'found', true, 'v'],
  ['vector', text, 'found', 'timed_out', true, 'k vector_search_unavailable'],
  ['vector', text, 'found', 'unavailable', true, 'k vector_search_unavailable'],
  ['vector', text, 'found', 'throws', true, 'defect'],
  ['hybrid', text, 'found', 'throws', true, 'defect'],
  ['hybrid', text, 'throws', 'found', true, 'defect'],
  ['vector', text, 'found', 'found', false, 'k vector_search_unavailable'],
  ['vector', text, 'timed_out', 'timed_out', true, '503'],
  ['vector', text, 'unavailable', 'found', false, '503'],
  ['vector', own, 'throws', 'found', false, 'v'],
  ['vector', own, 'found', 'unavailable', true, 'none vector_search_unavailable'],
  ['vector', own, 'found', 'timed_out', true, 'none vector_search_unavailable'],
  ['hybrid', text, 'found', 'found', true, 'k+v'],
  ['hybrid', text, 'found', 'timed_out', true, 'k vector_search_unavailable'],
  ['hybrid', text, 'found', 'found', false, 'k vector_search_unavailable'],
  ['hybrid', text, 'timed_out', 'found', true, 'v keyword_search_timed_out'],
  ['hybrid', text, 'timed_out', 'timed_out', true, '503'],
  ['hybrid', text, 'timed_out', 'found', false, '503'],
  ['hybrid', text, 'unavailable', 'unavailable', true, '503'],
]

suite('searches with failing parts', () => {
  for (const [mode, body, keyword, vector, embeds, expected] of cases) {
    const given = 'query' in body ? 'text' : 'vector'
    test(`${mode} by ${given}: words ${keyword}, vectors ${vector}, embedding ${embeds}: ${expected}`, async () => {
      assert.equal(await answer(searcherOf(keyword, vector, embeds).searcher, mode, body), expected)
    })
  }

  test('degradations have their causes, for the log', async () => {
    const causes = async (parts: Partial<SearcherParts>, vector: BranchOutcome, embeds: boolean) => {
      const { searcher } = searcherOf('found', vector, embeds, 2, () => false, parts)
      const { degradations } = await searcher.search(
        checkSearch({ mode: 'hybrid', ...text }, null, 2),
        scope,
        null,
        caller,
      )
      return degradations.map(({ code, cause }) => `${code}: ${(cause as Error).message}`)
    }
    const down = 'vector_search_unavailable: down'
    assert.deepEqual(await causes({}, 'found', false), [down])
    const inIndex = 'vector_search_unavailable: the index: r'
    assert.deepEqual(await causes({}, 'unavailable', true), [inIndex])
    const crossEncoder = { scores: () => Promise.reject(new UnavailableError('asleep')) }
    assert.deepEqual(await causes({ crossEncoder }, 'found', false), [down, 'rerank_unavailable: asleep'])
  })

  test('missing scores for documents that only one branch found are a degradation', async () => {
    const { searcher, index } = searcherOf('found', 'found')
    index.score = async () => ({ outcome: 'timed_out' })
    assert.equal(await answer(searcher, 'hybrid', text), 'k+v keyword_search_timed_out vector_search_unavailable')
  })

  test('a query vector before any vector exists is a degradation, not an empty result', async () => {
    const { searcher } = searcherOf('found', 'found', false, null)
    assert.equal(await answer(searcher, 'vector', own), 'none vector_search_unavailable')
    assert.equal(await answer(searcher, 'vector', { ...own, ...text }), 'k vector_search_unavailable')
  })

  test('a caller who may not read bodies does not wait for a vector, and gets no degradation without it', async () => {
    const titles: Scope = { entries: scope.entries.map((entry) => ({ ...entry, fields: ['title', 'metadata'] })) }
    const mixed: Scope = { entries: [...titles.entries, ...scope.entries] }
    for (const [given, embedded, expected] of [
      [titles, 0, ['k']],
      [mixed, 1, ['k', 'v']],
    ] as const) {
      let embeddings = 0
      const embed = async () => [Float32Array.of(1, 0)].slice(0, ++embeddings)
      const embedder = { profileId: 'm', dimensions: 2, languages: null, embed } as unknown as Embedder
      const { searcher, requests } = searcherOf('found', 'found', true, 2, undefined, { embedder })
      const search = checkSearch({ mode: 'hybrid', ...text }, null, 2)
      const { found, degradations, vectorsPending } = await searcher.search(search, given, null, caller)
      assert.deepEqual(found.map(({ documentId }) => documentId).sort(), expected)
      assert.deepEqual([degradations, vectorsPending ?? false], [[], false])
      assert.deepEqual([embeddings, requests.length], [embedded, embedded])
    }
  })

  test('models are used in the languages that they know, and a stand-in in all languages', async () => {
    const embed = async () => [Float32Array.of(1, 0)]
    const profile = (profileId: string) =>
      ({ profileId, dimensions: 2, languages: ['en'], cosines: defaultCosines, embed }) as unknown as Embedder
    const others = [
      { embedder: profile('besides'), role: 'besides' as const },
      { embedder: profile('before'), role: 'stand_in' as const },
    ]
    for (const [query, expected] of [
      ['Why does the ferry not go?', ['m', 'besides', 'before']],
      ['Warum fährt die Fähre nicht?', ['m', 'before']],
      ['渡轮为什么停航', ['m', 'before']],
    ] as const) {
      const { searcher, requests } = searcherOf('found', 'found', true, 2, undefined, { others: () => others })
      await answer(searcher, 'vector', { query })
      assert.deepEqual(
        requests.map(({ profileId }) => profileId),
        expected,
      )
      assert.deepEqual(requests.at(-1)!.filters.languages, null)
    }
  })

  test('a rebuild of the index is a degradation in addition to others', async () => {
    let refilling = true
    const { searcher } = searcherOf('found', 'unavailable', true, 2, () => refilling)
    assert.equal(await answer(searcher, 'keyword', text), 'k search_index_rebuilding')
    assert.equal(await answer(searcher, 'vector', text), 'k vector_search_unavailable search_index_rebuilding')
    const counting = checkSearch({ mode: 'keyword', ...text, facets: ['dataset'] }, null, 2)
    assert.equal((await searcher.search(counting, scope, null, caller)).facetsExact, false)
    refilling = false
    assert.equal(await answer(searcher, 'keyword', text), 'k')
    assert.equal((await searcher.search(counting, scope, null, caller)).facetsExact, true)
  })

  test('no search exceeds its time limits if every part takes all of its time', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1 })
    /** The answer and the time that it took. */
    const timed = async (mode: Mode, quick: readonly ('embed' | 'keyword')[]): Promise<[string, number]> => {
      const late = async ({ timeoutMs }: { readonly timeoutMs: number }) => {
        t.mock.timers.tick(timeoutMs)
        return { outcome: 'timed_out' as const }
      }
      const { index: found } = searcherOf('found', 'found')
      const keyword = quick.includes('keyword') ? found.keyword : late
      const index = { keyword, vector: late, score: late } as unknown as SearchIndex
      const embed = async () => {
        if (quick.includes('embed')) return [Float32Array.of(1, 0)]
        t.mock.timers.tick(searchLimits.vectorWaitMs)
        throw new EmbeddingError('aborted', 'late')
      }
      const embedder = { profileId: 'm', dimensions: 2, languages: null, cosines: defaultCosines, embed }
      const own = { index, embedder: embedder as unknown as Embedder }
      const startedAt = Date.now()
      const outcome = await answer(searcherOf('found', 'found', true, 2, undefined, own).searcher, mode, {
        query: 'tide table of the harbour in stormy weather',
      })
      return [outcome, Date.now() - startedAt]
    }
    assert.deepEqual(await timed('keyword', []), ['none keyword_search_timed_out', 3000])
    assert.deepEqual(await timed('vector', ['embed']), ['503', 8000])
    assert.deepEqual(await timed('vector', ['embed', 'keyword']), ['k vector_search_unavailable', 5000])
    assert.deepEqual(await timed('vector', []), ['503', 8000])
    assert.deepEqual(await timed('hybrid', ['embed']), ['503', 5000])
    assert.deepEqual(await timed('hybrid', []), ['503', 8000])
    assert.deepEqual(await timed('hybrid', ['keyword']), ['k vector_search_unavailable keyword_search_timed_out', 8000])
    assert.deepEqual(await timed('hybrid', ['embed', 'keyword']), [
      'k vector_search_unavailable keyword_search_timed_out',
      8000,
    ])
  })

  test('an index that is behind is a degradation in every mode, unless it is being rebuilt', async () => {
    let isRefilling = false
    const searcherWhile = (vector: BranchOutcome) =>
      searcherOf('found', vector, true, 2, () => isRefilling, { isBehind: () => true }).searcher
    assert.equal(await answer(searcherWhile('found'), 'keyword', text), 'k search_index_behind')
    assert.equal(await answer(searcherWhile('found'), 'vector', text), 'v search_index_behind')
    const without = 'k vector_search_unavailable search_index_behind'
    assert.equal(await answer(searcherWhile('unavailable'), 'hybrid', text), without)
    const counting = checkSearch({ mode: 'keyword', ...text, facets: ['dataset'] }, null, 2)
    assert.equal((await searcherWhile('found').search(counting, scope, null, caller)).facetsExact, false)
    isRefilling = true
    assert.equal(await answer(searcherWhile('found'), 'keyword', text), 'k search_index_rebuilding')
  })

  test('a vector of any length is scaled without overflow or underflow', async () => {
    for (const query_vector of [
      [1e300, -1e300],
      [1e-320, 0],
      [3, 4],
    ]) {
      const { searcher, requests } = searcherOf('found', 'found')
      await answer(searcher, 'vector', { query_vector })
      const vector = Array.from(requests[0]!.vector)
      assert.ok(vector.every(Number.isFinite) && Math.max(...vector.map(Math.abs)) === 1, `${vector}`)
    }
  })

  test('a search that is aborted makes no further request, and rejects with the reason', async () => {
    const gone = new Error('gone')
    for (const mode of ['vector', 'hybrid'] as const) {
      const controller = new AbortController()
      const requests: string[] = []
      const index = new Proxy({} as SearchIndex, {
        get: (_, call) => async () => {
          requests.push(String(call))
          return { outcome: 'found', hits: [hit('k')], totalChunks: 1, next: null }
        },
      })
      const embed: Embedder['embed'] = (_texts, _kind, signal) =>
        new Promise((_, reject) => {
          signal!.addEventListener('abort', () => reject(new EmbeddingError('aborted', 'given up')))
          setImmediate(() => controller.abort(gone))
        })
      const embedder = { profileId: 'm', dimensions: 2, languages: null, embed } as unknown as Embedder
      const { searcher } = searcherOf('found', 'found', true, 2, undefined, { index, embedder })
      const search = checkSearch({ mode, ...text }, null, 2)
      await assert.rejects(searcher.search(search, scope, null, { id: 'a', signal: controller.signal }), gone)
      assert.deepEqual(requests, [])
    }
  })
})

suite('searches of several callers', () => {
  const idle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

  /** An index that answers on command. Searches are distinguished by their limits. */
  function manualIndex() {
    const requests: number[] = []
    const open = new Map<number, () => void>()
    const index = {
      keyword: ({ limit }: KeywordRequest) =>
        new Promise((resolve) => {
          requests.push(limit)
          open.set(limit, () => resolve({ outcome: 'found', hits: [hit('k')], totalChunks: 1, next: null }))
        }),
    } as unknown as SearchIndex
    const { searcher } = searcherOf('found', 'found', true, 2, undefined, { index })
    const ask = (id: string, limit: number, signal = new AbortController().signal) =>
      searcher.search(checkSearch({ ...text, limit }, 'keyword', 2), scope, null, { id, signal })
    return { requests, ask, answer: (limit: number) => open.get(limit)!() }
  }

  test('searches of one caller wait for each other, the first of another does not wait, and an aborted one never starts', async () => {
    const { requests, ask, answer } = manualIndex()
    const gone = new Error('gone')
    const controller = new AbortController()
    const all = [1, 2, 3].map((limit) => ask('crowd', limit))
    const given = ask('crowd', 4, controller.signal)
    await idle()
    assert.deepEqual(requests, [1])
    all.push(ask('single', 5))
    await idle()
    assert.deepEqual(requests, [1, 5])
    controller.abort(gone)
    await assert.rejects(given, gone)
    for (const limit of [1, 5, 2, 3]) {
      answer(limit)
      await idle()
    }
    assert.deepEqual(requests, [1, 5, 2, 3])
    for (const { found } of await Promise.all(all)) assert.equal(found.length, 1)
  })

  test('a search that gets no slot in time returns with degradations', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1 })
    const { requests, ask, answer } = manualIndex()
    const first = ask('crowd', 1)
    const second = ask('crowd', 2)
    await idle()
    t.mock.timers.tick(searchLimits.keywordWaitMs)
    const { degradations } = await second
    assert.deepEqual(
      degradations.map(({ code }) => code),
      ['keyword_search_timed_out'],
    )
    answer(1)
    await first
    assert.deepEqual(requests, [1])
  })

  test('the embedding and the cross-encoder are awaited outside of the slot', async () => {
    const steps: string[] = []
    const waits = (step: string): Promise<never> => {
      steps.push(step)
      return new Promise(() => {})
    }
    /** This index never answers: the searches end at their time limit, seconds after the test. */
    const ask = (searcher: Searcher, id: string) =>
      void searcher
        .search(checkSearch(text, 'hybrid', 2), scope, null, { id, signal: new AbortController().signal })
        .catch(() => {})
    const embed = () => waits('embed')
    const embedder = { profileId: 'm', dimensions: 2, languages: null, embed } as unknown as Embedder
    const slots = new FairSlots(1)
    const own = { slots, crossEncoder: { scores: () => waits('rerank') } }
    ask(searcherOf('found', 'found', true, 2, undefined, { slots, embedder }).searcher, 'crowd')
    for (let i = 0; i < 2; i++) ask(searcherOf('found', 'found', true, 2, undefined, own).searcher, 'crowd')
    for (let i = 0; i < 20; i++) await idle()
    assert.deepEqual(steps, ['embed', 'rerank', 'rerank'])
  })
})
