import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from './config.ts'
import type { Embedder } from './embedding/embedder.ts'
import { QueryCache } from './embedding/query-cache.ts'
import { registerEmbedder } from './embedding/register-embedder.ts'
import type { Check } from './http/public-routes.ts'
import type { Operator } from './operator/operator.ts'
import { defaultWeights } from './search/fuse.ts'
import type { IndexSource } from './search/index-source.ts'
import { indexingState } from './search/indexing-state.ts'
import { defaultRerankWeights } from './search/rerank.ts'
import type { SearchIndex } from './search/search-index.ts'
import { Searcher } from './search/searcher.ts'
import { openSegmentsIndex } from './storage/segments/segments-index.ts'
import { ANALYSIS_VERSION } from './text/analyse.ts'
import { startIndexing } from './worker/indexing.ts'

/** The search side of an instance: index, embedder, and the loops that keep the index up with the store. */
export interface SearchSide {
  readonly index: SearchIndex
  readonly embedder: Embedder
  readonly searcher: Searcher
  readonly check: Check
  /** Something was written that may have to be indexed. */
  wake(): void
  close(): Promise<void>
}

export async function composeSearch(
  config: Config,
  source: IndexSource,
  operator: Operator,
  logger: FastifyBaseLogger,
): Promise<SearchSide> {
  const index = await openIndex(config.dataDir)
  const { embedder, learn } = await registerEmbedder(config, {
    embeddingProfiles: () => operator.read.embeddingProfiles(),
    register: async (profile) => {
      await operator.commit('start', [{ kind: 'profile.put', ...profile, status: 'active', isDefault: true }])
    },
  })
  const searcher = new Searcher({
    index,
    source,
    embedder,
    cache: new QueryCache(),
    weights: config.hybridWeights ?? defaultWeights,
    rerankWeights: defaultRerankWeights,
  })
  const indexing = startIndexing(source, index, embedder, learn, logger)
  return {
    index,
    embedder,
    searcher,
    check: async () => {
      const { health, backlog, memoryBytes, warnings } = await indexingState(index, source)
      const behind = `${backlog.documents} documents and ${backlog.waitingVectors} vectors behind`
      const size = `${health.chunks} chunks in ${Math.round(memoryBytes / 2 ** 20)} MiB`
      return { ok: true, detail: [size, behind, ...warnings].join('; ') }
    },
    wake: () => indexing.wake(),
    async close() {
      await indexing.stop()
      await embedder.close()
      await index.close()
    },
  }
}

/** The index is made from the store by rules of text analysis; under other rules it is emptied, and fed anew. */
async function openIndex(dataDir: string): Promise<SearchIndex> {
  const index = await openSegmentsIndex({ path: join(dataDir, 'search.sqlite') })
  const rulesFile = join(dataDir, 'search.rules')
  const rules = await readFile(rulesFile, 'utf8').catch(() => null)
  if (rules !== ANALYSIS_VERSION) {
    await index.clear()
    await writeFile(rulesFile, ANALYSIS_VERSION)
  }
  return index
}
