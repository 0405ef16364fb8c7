import { fieldPermissions, type Scope } from '../../src/access/scope.ts'
import { usualCosines } from '../../src/embedding/embedder.ts'
import { searchLimits as limits } from '../../src/search/limits.ts'
import { scoreCandidates } from '../../src/search/score-candidates.ts'
import { noFilters, type SearchIndex } from '../../src/search/search-index.ts'
import type { KeywordQuery } from '../../src/text/types.ts'
import { drawVector, type Random, wordOf } from '../index/corpus.ts'
import { type Client, parsed, type TimedAsk, timed } from './client.ts'
import { spell } from './spell.ts'

export const modes = ['keyword', 'vector', 'hybrid'] as const
export type Mode = (typeof modes)[number]
export const datasets = Array.from({ length: 100 }, (_, i) => `d${i}`)
const everything: Scope = {
  entries: [
    {
      datasets,
      platforms: null,
      languages: null,
      regions: null,
      publishedFrom: null,
      publishedTo: null,
      fields: fieldPermissions,
    },
  ],
}

const between = (random: Random, from: number, to: number): string =>
  spell(wordOf(Math.floor(from + random() * (to - from))))
/** Three words, rare to common. */
export const drawText = (random: Random): string =>
  [between(random, 50, 300), between(random, 300, 3000), between(random, 3000, 20_000)].join(' ')

export interface BareQuestion {
  readonly query: KeywordQuery
  readonly vector: Float32Array
}

/** The calls that a search in this mode makes, without anything around them. Returns the documents of a page of them. */
export async function bareSearch(
  index: SearchIndex,
  mode: Mode,
  profileId: string,
  { query, vector }: BareQuestion,
): Promise<string[]> {
  const asked = { scope: everything, filters: noFilters, timeoutMs: 60_000 }
  const near = { profileId, vector }
  const limit = mode === 'keyword' ? limits.resultsDefault : limits.hybridCandidates
  const page = limits.resultsDefault
  const forVector = { topK: page * limits.vectorCandidatesPerResult, enough: { chunks: 0, documents: page } }
  const wanted = mode === 'vector' ? forVector : { topK: limits.hybridCandidates }
  const isHybrid = mode === 'hybrid'
  // What the words are worth is told by the parts of the best.
  const byVector = isHybrid ? { near: [{ ...near, filters: noFilters }], explainFirst: true } : {}
  const byWords = isHybrid ? { words: { query, filters: noFilters } } : {}
  const [words, nearest] = await Promise.all([
    mode === 'vector' ? null : index.keyword({ ...asked, query, limit, after: null, otherChunksMax: 0, ...byVector }),
    mode === 'keyword' ? null : index.vector({ ...asked, ...near, ...wanted, ...byWords }),
  ])
  const hits = [words, nearest].flatMap((page) => (page?.outcome === 'found' ? page.hits : []))
  const found = [...new Set(hits.map(({ documentId }) => documentId))].slice(0, page)
  if (words?.outcome !== 'found' || nearest?.outcome !== 'found') return found
  // What hits do not tell is asked for.
  const scoring = {
    ...asked,
    request: { filters: noFilters, explain: false },
    query,
    index,
    statistics: words.statistics,
  }
  const vectors = [{ ...near, cosines: usualCosines, languages: null, isStandIn: false }]
  await scoreCandidates(scoring, words.hits, nearest.hits, vectors, [])
  return found
}

/** Searches over HTTP, with the caller's own vectors. */
export function searches(client: Client, mode: Mode, include_highlights: boolean, random: Random): TimedAsk {
  return timed(
    () => {
      const query = drawText(random)
      const vector = drawVector(random)
      const query_vector = mode === 'keyword' ? undefined : [...vector].map((value) => Math.fround(value))
      return JSON.stringify({ query, query_vector, include_highlights })
    },
    (body) => client.send('POST', `/v1/search/${mode}`, body),
    (answer) => {
      const found = parsed(answer)
      if (found.degraded) throw new Error(`degraded: ${JSON.stringify(found.warnings)}`)
    },
  )
}
