import { fieldPermissions, type Scope } from '../../src/access/scope.ts'
import { defaultCosines } from '../../src/embedding/embedder.ts'
import type { SearchIndex } from '../../src/indexing/fed-index.ts'
import { Degradations } from '../../src/search/degradations.ts'
import { scoreCandidates } from '../../src/search/fuse/fuse.ts'
import { searchLimits as limits } from '../../src/search/limits.ts'
import { noFilters } from '../../src/search/search-index.ts'
import type { KeywordQuery } from '../../src/text/types.ts'
import { datasets, drawText, drawVector, type Random } from '../corpus/corpus.ts'
import { type Client, parsed } from './client.ts'
import { type TimedAsk, timed } from './times.ts'

export const modes = ['keyword', 'vector', 'hybrid'] as const
export type Mode = (typeof modes)[number]

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

/** Makes only the index calls of a search in this mode. Returns the document IDs of a page. */
export async function bareSearch(
  index: SearchIndex,
  mode: Mode,
  profileId: string,
  { query, vector }: { readonly query: KeywordQuery; readonly vector: Float32Array },
): Promise<string[]> {
  const everywhere = { scope: everything, filters: noFilters, timeoutMs: 60_000 }
  const near = { profileId, vector }
  const limit = mode === 'keyword' ? limits.resultsDefault : limits.hybridCandidates
  const page = limits.resultsDefault
  const forVector = { topK: page * limits.vectorCandidatesPerResult, enough: { chunks: 0, documents: page } }
  const nearOptions = mode === 'vector' ? forVector : { topK: limits.hybridCandidates }
  const [words, nearest] = await Promise.all([
    mode === 'vector' ? null : index.keyword({ ...everywhere, query, limit, after: null, otherChunksMax: 0 }),
    mode === 'keyword' ? null : index.vector({ ...everywhere, ...near, ...nearOptions }),
  ])
  const hits = [words, nearest].flatMap((page) => (page?.outcome === 'found' ? page.hits : []))
  const found = [...new Set(hits.map(({ documentId }) => documentId))].slice(0, page)
  if (words?.outcome !== 'found' || nearest?.outcome !== 'found') return found
  // Computes, for the hits of one branch, their scores in the other branch.
  const scoring = {
    ...everywhere,
    request: { filters: noFilters, explain: false },
    query,
    index,
    until: Date.now() + everywhere.timeoutMs,
    statistics: words.statistics,
  }
  const vectors = [{ ...near, cosines: defaultCosines, languages: null, isStandIn: false }]
  await scoreCandidates(scoring, words.hits, nearest.hits, vectors, new Degradations())
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
