import { availableParallelism } from 'node:os'
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from './config.ts'
import type { Embedder } from './embedding/embedder.ts'
import { QueryCache } from './embedding/query-cache.ts'
import { type ProfileRegistry, registerEmbedder } from './embedding/register-embedder.ts'
import type { Check } from './http/public-routes.ts'
import type { Incidents } from './incidents.ts'
import type { OpenParts } from './open-parts.ts'
import type { Operator } from './operator/operator.ts'
import { completeVectors } from './search/complete-vectors.ts'
import { HttpCrossEncoder } from './search/cross-encoder.ts'
import { CurrentIndex } from './search/current-index.ts'
import { feedIndex } from './search/feed-index.ts'
import { defaultWeights } from './search/fuse.ts'
import type { IndexSource } from './search/index-source.ts'
import { indexingState } from './search/indexing-state.ts'
import { defaultRerankWeights } from './search/rerank.ts'
import type { SearchIndex } from './search/search-index.ts'
import { Searcher } from './search/searcher.ts'
import type { OpenStore } from './storage/open-store.ts'
import {
  indexPath,
  readPointer,
  removeGenerations,
  servedGeneration,
  writePointer,
} from './storage/segments/file/index-files.ts'
import { openSegmentsIndex } from './storage/segments/segments-index.ts'
import { ANALYSIS_VERSION } from './text/analyse.ts'
import type { PoolWatch } from './threads/pool.ts'
import { FairTurns } from './turns/fair-turns.ts'
import { startIndexing } from './worker/indexing.ts'
import { repeat } from './worker/repeating.ts'

/** The search side of an instance: index, embedder, and the loops that keep the index up with the store. */
export interface SearchSide {
  readonly index: SearchIndex
  readonly embedder: Embedder
  readonly searcher: Searcher
  readonly check: Check
  /** Something was written that may have to be indexed. */
  wake(): void
}

interface SearchParts {
  readonly config: Config
  readonly open: OpenStore
  readonly operator: Operator
  readonly parts: OpenParts
  readonly incidents: Incidents
  readonly logger: FastifyBaseLogger
  readonly pools: PoolWatch
}

export async function composeSearch({
  config,
  open,
  operator,
  parts,
  incidents,
  logger,
  pools,
}: SearchParts): Promise<SearchSide> {
  const source = open.store.indexSource
  const told = { watch: pools, incidents }
  const opened = await openServed(config.dataDir, told)
  let { generation } = opened
  const index = new CurrentIndex(opened.index)
  parts.opened('search index', () => index.close())
  const profiles: ProfileRegistry = {
    embeddingProfiles: () => operator.read.embeddingProfiles(),
    register: async (profile) => {
      await operator.commit('start', [{ kind: 'profile.put', ...profile, status: 'active', isDefault: true }])
    },
  }
  const { embedder, learn } = await registerEmbedder(config, profiles, pools)
  parts.opened('embedder', () => embedder.close())
  if (open.shared && !(await open.elected('vectors'))) {
    logger.warn(
      'several processes answer for this database, and each keeps a search index of its own, fed from there: their memory adds up, and they can be moments apart; an index server for all of them is not supported yet',
    )
  }
  const makes = open.shared ? () => open.elected('vectors') : null
  const indexing = await startIndexing(source, index, embedder, learn, incidents, logger, makes)
  parts.opened('indexing', () => indexing.stop())
  const searcher = new Searcher({
    index,
    source,
    embedder,
    cache: new QueryCache(),
    turns: new FairTurns(searchesAtOnce(open.shared)),
    weights: config.hybridWeights ?? defaultWeights,
    rerankWeights: defaultRerankWeights,
    crossEncoder: config.rerankUrl === null ? null : new HttpCrossEncoder({ url: config.rerankUrl }),
    isRefilling: () => indexing.isRefilling,
  })
  const adopting = repeat(
    'adopt-index',
    adoptEveryMs,
    async () => {
      const pointer = await readPointer(config.dataDir)
      if (pointer === null || pointer.generation <= generation || pointer.rules !== ANALYSIS_VERSION) return false
      const rebuilt = await openSegmentsIndex({ path: indexPath(config.dataDir, pointer.generation), ...told })
      generation = pointer.generation
      await indexing.exchange(() => index.replace(rebuilt))
      await removeGenerations(config.dataDir, generation)
      logger.info({ generation }, 'a rebuilt search index is served')
      return false
    },
    incidents,
  )
  parts.opened('adoption of a rebuilt index', () => adopting.stop())
  return {
    index,
    embedder,
    searcher,
    check: async () => {
      const { health, backlog, memoryBytes, warnings } = await indexingState(index, source)
      const waiting = backlog.documents + backlog.waitingVectors
      const behind = `${backlog.documents} documents and ${backlog.waitingVectors} vectors behind`
      const size = `${health.chunks} chunks in ${Math.round(memoryBytes / 2 ** 20)} MiB`
      return { ok: health.searchable, detail: [size, waiting === 0 ? 'up to date' : behind, ...warnings].join(', ') }
    },
    wake: () => indexing.wake(),
  }
}

/**
 * Searches at once, besides the first of every application. One alone keeps about one and a half cores busy; more at once would
 * answer few more in a second, and each of them later. On a shared store a part of its time is waiting.
 */
const searchesAtOnce = (shared: boolean): number => Math.max(1, Math.floor(availableParallelism() / (shared ? 1 : 2)))

/** Where a rebuilt index is looked for. */
const adoptEveryMs = 1000

/** The index of the data folder. Words are made by rules; under other rules the index is begun anew, and fed. */
async function openServed(
  dataDir: string,
  told: { readonly watch: PoolWatch; readonly incidents: Incidents },
): Promise<{ index: SearchIndex; generation: number }> {
  const generation = await servedGeneration(dataDir, ANALYSIS_VERSION)
  const index = await openSegmentsIndex({ path: indexPath(dataDir, generation), ...told }).catch((error: unknown) => {
    const inUse = error instanceof Error && error.message.includes('open in another process')
    throw inUse
      ? new Error(`${dataDir} is served by another process: stop it, or set TIDEMARK_DATA_DIR to a folder of its own`)
      : error
  })
  await removeGenerations(dataDir, generation)
  return { index, generation }
}

/**
 * Builds the next generation of the index beside the one that is served, from what the store has, and then hands it
 * over: a running server takes it within seconds, another one at its next start. Stopped and started again, it goes on.
 */
export async function rebuildIndex(
  config: Config,
  source: IndexSource,
  report: (state: { done: number; total: number; documents: number }) => void,
): Promise<{ documents: number; resumedAt: number }> {
  const pointer = await readPointer(config.dataDir)
  const generation = (pointer?.generation ?? 0) + 1
  const index = await openSegmentsIndex({ path: indexPath(config.dataDir, generation) })
  let result: { documents: number; resumedAt: number }
  try {
    const health = await index.health()
    if (health.state === 'needs_rebuild') await index.clear()
    let position = health.state === 'needs_rebuild' ? 0 : health.position
    const resumedAt = position
    let documents = 0
    for (;;) {
      const step = await feedIndex(source, index, position)
      if (step.documents === 0) break
      position = step.position
      documents += step.documents
      report({ done: position, total: await source.newestRevision(), documents })
    }
    await takeLateVectors(source, index)
    await index.checkpoint()
    result = { documents, resumedAt }
  } finally {
    await index.close()
  }
  // Only a whole index is handed over; a failure above leaves the pointer where it was.
  await writePointer(config.dataDir, { generation, rules: ANALYSIS_VERSION })
  return result
}

/** Vectors that a running server made after their chunks were read. What it makes from now on it finds when it takes over. */
async function takeLateVectors(source: IndexSource, index: SearchIndex): Promise<void> {
  const profileId = await source.defaultProfile()
  if (profileId === null) return
  let after: string | null = null
  do after = (await completeVectors(source, index, profileId, after)).next
  while (after !== null)
}
