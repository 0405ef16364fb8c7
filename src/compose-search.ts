import { hash } from 'node:crypto'
import { availableParallelism, hostname } from 'node:os'
import { resolve } from 'node:path'
import type { Config } from './config.ts'
import type { Embedder } from './embedding/embedder.ts'
import { QueryCache } from './embedding/query-cache.ts'
import { type ProfileRegistry, registerEmbedders } from './embedding/register-embedders.ts'
import { isUnavailability } from './errors.ts'
import type { Check } from './http/public-routes.ts'
import type { Incidents } from './incidents.ts'
import type { Log } from './log.ts'
import type { Measures } from './measures.ts'
import type { OpenParts } from './open-parts.ts'
import type { Operator } from './operator/operator.ts'
import { measureBreakers } from './outbound/breaker-measures.ts'
import { HttpCrossEncoder } from './search/cross-encoder.ts'
import { CurrentIndex } from './search/current-index.ts'
import { defaultWeights } from './search/fuse.ts'
import { IndexingMeasures } from './search/indexing-measures.ts'
import {
  type IndexingState,
  indexingState,
  pendingCountedMax,
  readiness,
  readinessAlone,
} from './search/indexing-state.ts'
import type { ValuesParts } from './search/list-values.ts'
import { defaultRerankWeights } from './search/rerank.ts'
import { SearchMeasures } from './search/search-measures.ts'
import { Searcher } from './search/searcher.ts'
import { indexHomeOf } from './storage/index-homes.ts'
import type { OpenStore } from './storage/open-store.ts'
import type { PoolWatch } from './threads/pool.ts'
import { FairTurns } from './turns/fair-turns.ts'
import { startAdopting } from './worker/adopt-index.ts'
import { startIndexing } from './worker/indexing.ts'
import { startPurging } from './worker/purge-index.ts'
import { startStandIns } from './worker/stand-ins.ts'

/** The search side of an instance: index, embedder, and the loops that keep the index up with the store. */
export interface SearchSide {
  readonly embedder: Embedder
  readonly searcher: Searcher
  readonly measures: SearchMeasures
  readonly values: ValuesParts
  readonly check: Check
  /** How far the index is, and what an operator should know of it. */
  readonly indexing: () => Promise<IndexingState>
  /** Something was written that may have to be indexed. */
  wake(): void
  /** Resolves when this process's index finds nothing that was erased before, or cannot be fed at the moment. */
  reachErasures(): Promise<void>
}

interface SearchParts {
  readonly config: Config
  readonly open: OpenStore
  /** Other processes may serve the same store. */
  readonly shared: boolean
  readonly operator: Operator
  readonly parts: OpenParts
  readonly incidents: Incidents
  readonly logger: Log
  readonly pools: PoolWatch
  readonly measures: Measures
}

export async function composeSearch({
  config,
  open,
  shared,
  operator,
  parts,
  incidents,
  logger,
  pools,
  measures,
}: SearchParts): Promise<SearchSide> {
  const source = open.store.indexSource
  const profiles: ProfileRegistry = {
    embeddingProfiles: () => operator.read.embeddingProfiles(),
    register: async ([main, ...besides]) => {
      const put = ({ profileId, provider, model, dimensions }: NonNullable<typeof main>) =>
        ({ kind: 'profile.put', profileId, provider, model, dimensions, status: 'active' }) as const
      await operator.commit('start', [
        { ...put(main!), isDefault: true },
        ...besides.map(put),
        { kind: 'profiles.make', profiles: besides },
      ])
    },
  }
  const register = async () => {
    const registered = await registerEmbedders(config, profiles, pools)
    const { embedder, besides, before } = registered
    parts.opened('embedders', () => Promise.all([embedder, ...besides, ...before].map((one) => one.close())))
    return registered
  }
  // A store that nothing was done to has no name yet that its index could bear: this gives it one. Otherwise the index
  // comes first, whose lock refuses a second process before that changes anything.
  const first = (await source.instance()) === null ? await register() : null
  const home = indexHomeOf(config, await source.instance(), { watch: pools, incidents })
  const index = new CurrentIndex(await home.open())
  parts.opened('search index', () => index.close())
  const { embedder, besides, before, learn } = first ?? (await register())
  if (shared && home.fedBy === 'each' && !(await open.elected('vectors'))) {
    logger.warn(
      {},
      'several processes answer for this database, and each keeps a search index of its own, fed from there: their memory adds up, and they can be moments apart; TIDEMARK_SEARCH_URL names a cluster that keeps one for all of them',
    )
  }
  const indexingMeasures = new IndexingMeasures(measures)
  const indexing = await startIndexing({
    source,
    index,
    fedBy: home.fedBy,
    embedders: [embedder, ...besides],
    learn,
    shared,
    elected: (office) => open.elected(office),
    incidents,
    logger,
    measures: indexingMeasures,
    news: open.news,
  })
  parts.opened('indexing', () => indexing.stop())
  const isOneForAll = home.fedBy === 'one'
  const purging = startPurging(
    {
      source,
      index,
      copyId: isOneForAll ? 'all' : shared ? ownIndex(config.dataDir) : 'own',
      shared,
      feeds: async () => !isOneForAll || (await open.elected('feeding')),
      news: open.news,
    },
    incidents,
  )
  parts.opened('purging', () => purging.stop())
  // As many as there are cores. One search alone keeps about one and a half of them busy, so more answer few more in a second; but
  // with fewer a search by words waits for a hybrid one, which takes several times as long: beside the making of vectors, on two
  // cores, its p99 was 40 ms with one at a time and 26 with two.
  const turns = new FairTurns(availableParallelism())
  // Those that make vectors too go on; the others are ended when they have nothing more to answer for.
  const ended = before.filter((one) => !besides.includes(one))
  const endModels = async (): Promise<void> => void (await Promise.all(ended.map((one) => one.close())))
  const standIns = startStandIns(source, embedder.profileId, before, endModels, incidents)
  parts.opened('stand-ins', () => standIns.stop())
  const crossEncoder =
    config.rerankUrl === null
      ? null
      : new HttpCrossEncoder({ url: config.rerankUrl, timeoutMs: config.rerankTimeoutMs })
  measureBreakers(measures, {
    ...(embedder.breaker === undefined ? {} : { embedding: () => embedder.breaker! }),
    ...(crossEncoder === null ? {} : { rerank: () => crossEncoder.breaker }),
  })
  const searcher = new Searcher({
    index,
    source,
    texts: open.store.searchTexts,
    embedder,
    others: () => [
      ...besides.map((one) => ({ embedder: one, role: 'besides' as const })),
      ...standIns.now().map((one) => ({ embedder: one, role: 'stand_in' as const })),
    ],
    cache: new QueryCache(),
    turns,
    weights: config.hybridWeights ?? defaultWeights,
    rerankWeights: defaultRerankWeights,
    crossEncoder,
    isRefilling: () => indexing.isRefilling,
  })
  const adopting = startAdopting(home, index, indexing, incidents, logger)
  parts.opened('adoption of a rebuilt index', () => adopting.stop())
  const model = { profileId: embedder.profileId, isEndpoint: config.embeddingUrl !== null }
  const state = async (countedMax?: number) => {
    const found = await indexingState(index, source, indexing, model, countedMax)
    const unserved = adopting.trouble === null ? [] : [`a rebuilt index is not served: ${adopting.trouble}`]
    return { ...found, warnings: [...found.warnings, ...unserved] }
  }
  indexingMeasures.watch(indexing, () => state(pendingCountedMax))
  return {
    embedder,
    searcher,
    values: { index, turns, isRefilling: () => indexing.isRefilling },
    measures: new SearchMeasures(measures),
    indexing: () => state(),
    check: async () => {
      try {
        return readiness(await state(pendingCountedMax), shared)
      } catch (error) {
        if (!isUnavailability(error)) throw error
        return readinessAlone(await index.health())
      }
    },
    wake: () => indexing.wake(),
    async reachErasures() {
      try {
        await indexing.reach(await source.newestErasure())
      } catch (error) {
        if (!isUnavailability(error)) throw error
      }
    },
  }
}

/** Names the index in a data folder, which one process at a time can have: after a restart it is the same. */
const ownIndex = (dataDir: string): string => hash('sha256', JSON.stringify([hostname(), resolve(dataDir)]))
