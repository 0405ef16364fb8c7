import { hash } from 'node:crypto'
import { availableParallelism, hostname } from 'node:os'
import { resolve } from 'node:path'
import type { Embedder } from '../embedding/embedder.ts'
import { QueryCache } from '../embedding/query-cache.ts'
import { type ProfileRegistry, type RegisteredEmbedders, registerEmbedders } from '../embedding/register-embedders.ts'
import { FairSlots } from '../fair-queue/fair-slots.ts'
import type { Check } from '../http/public-routes.ts'
import { CurrentIndex } from '../indexing/current-index.ts'
import { IndexingMeasures } from '../indexing/indexing-measures.ts'
import {
  type IndexingState,
  indexingState,
  pendingCountedMax,
  readiness,
  readinessWithoutBacklog,
} from '../indexing/indexing-state.ts'
import type { Operator } from '../operator/operator.ts'
import { measureBreakers } from '../outbound/breaker-measures.ts'
import { isUnavailability } from '../platform/errors.ts'
import type { Incidents } from '../platform/incidents.ts'
import type { Log } from '../platform/log.ts'
import type { Measures } from '../platform/measures.ts'
import type { Tracer } from '../platform/tracing.ts'
import { defaultWeights } from '../search/fuse/fusion.ts'
import type { ValuesParts } from '../search/list-values.ts'
import { HttpCrossEncoder } from '../search/rerank/cross-encoder.ts'
import { defaultRerankWeights } from '../search/rerank/reranker.ts'
import { SearchMeasures } from '../search/search-measures.ts'
import { Searcher } from '../search/searcher.ts'
import type { Config } from '../settings/config.ts'
import { indexHomeOf } from '../storage/index-homes.ts'
import { buildingElection, feedingElection, type OpenStore } from '../storage/open-store.ts'
import type { PoolWatch } from '../threads/pool.ts'
import { startAdopting } from '../worker/adopt-index.ts'
import type { FollowedHistory } from '../worker/follow-history.ts'
import { startIndexing } from '../worker/indexing.ts'
import { startPurging } from '../worker/purge-index.ts'
import { startRemovingOldIndexes } from '../worker/remove-old-indexes.ts'
import { startStandIns } from '../worker/stand-ins.ts'
import type { OpenParts } from './open-parts.ts'

/** The search side of an instance: index, embedder, and the loops that keep the index up to date with the store. */
export interface SearchSide {
  readonly embedder: Embedder
  readonly searcher: Searcher
  readonly measures: SearchMeasures
  readonly values: ValuesParts
  readonly check: Check
  /** The progress of indexing, with warnings for an operator. */
  readonly indexing: () => Promise<IndexingState>
  /** Called after a write that may have to be indexed. */
  wake(): void
  /** Rebuilds the index, because it has documents that the store has lost. */
  rebuild(why: string): Promise<void>
  /**
   * Resolves when the index has applied all erasures that were requested before the call, or when it cannot be written.
   */
  reachErasures(): Promise<void>
}

interface SearchParts {
  readonly config: Config
  readonly open: OpenStore
  /** Whether other processes may serve the same store. */
  readonly shared: boolean
  readonly operator: Operator
  readonly history: Pick<FollowedHistory, 'lossAtStart' | 'indexIsAhead'>
  readonly parts: OpenParts
  readonly incidents: Incidents
  readonly logger: Log
  readonly pools: PoolWatch
  readonly measures: Measures
  readonly tracer: Tracer
}

export async function composeSearch({
  config,
  open,
  shared,
  operator,
  history,
  parts,
  incidents,
  logger,
  pools,
  measures,
  tracer,
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
    const registered = withTracedCalls(await registerEmbedders(config, profiles, pools), tracer)
    const { embedder, besides, before } = registered
    parts.opened('embedders', () => Promise.all([embedder, ...besides, ...before].map((one) => one.close())))
    return registered
  }
  // The index needs the instance ID. In a new store, the registration of the profile creates the ID. Otherwise the
  // index is opened first, because its lock stops a second process before that process changes anything.
  const first = (await source.instance()) === null ? await register() : null
  const home = indexHomeOf(config, await source.instance(), { watch: pools, incidents, measures })
  const index = tracer.traceMethods('index ', new CurrentIndex(await home.open()))
  parts.opened('search index', () => index.close())
  const { embedder, besides, before, registerDimensions } = first ?? (await register())
  if (shared && home.fedBy === 'each' && !(await open.elected('vectors'))) {
    logger.warn(
      {},
      'several processes serve this database, and each has its own search index: each needs the memory for it, and they can differ for a moment; set TIDEMARK_SEARCH_URL to use one index in a cluster for all',
    )
  }
  const feeding = feedingElection(home.version)
  const indexingMeasures = new IndexingMeasures(measures)
  const indexing = await startIndexing({
    source,
    index,
    fedBy: home.fedBy,
    history,
    embedders: [embedder, ...besides],
    registerDimensions,
    shared,
    elected: (election) => open.elected(election === 'feeding' ? feeding : election),
    incidents,
    logger,
    measures: indexingMeasures,
    tracer,
    notifications: open.notifications,
  })
  parts.opened('indexing', () => indexing.stop())
  const adopting = startAdopting(home, index, indexing, incidents, logger)
  parts.opened('adoption of a rebuilt index', () => adopting.stop())
  const isBuilt = async (version: string | null): Promise<boolean> =>
    version !== null && (await open.hasLeader(buildingElection(version)))
  const isInUse = async (version: string | null): Promise<boolean> =>
    (await open.hasLeader(feedingElection(version))) || (await isBuilt(version))
  const removing = startRemovingOldIndexes({ home, indexing, isInUse }, incidents, logger)
  parts.opened('removal of old indexes', () => removing.stop())
  const isOneForAll = home.fedBy === 'one'
  const purging = startPurging(
    {
      source,
      index,
      copyId: isOneForAll ? `all/${home.version}` : ownCopyId(shared, config.dataDir),
      shared,
      feeds: async () => !isOneForAll || (await open.elected(feeding)),
      async removeUnfed() {
        if (removing.leavesUnfed) return false
        // On SQLite, an active rebuild in the cluster cannot be told from an abandoned one.
        if (isOneForAll && !shared) return true
        return !(await isBuilt(home.version)) && (await home.removeNext())
      },
      notifications: open.notifications,
    },
    incidents,
  )
  parts.opened('purging', () => purging.stop())
  // One slot for each core. A search keeps more than one core busy, so more slots would add little throughput. With
  // fewer, keyword searches would wait for hybrid searches, which take several times as long.
  const slots = new FairSlots(availableParallelism())
  // Models that also make vectors stay open. The others are closed when no query needs them any more.
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
    texts: open.store.searchTexts,
    embedder,
    others: () => [
      ...besides.map((one) => ({ embedder: one, role: 'besides' as const })),
      ...standIns.now().map((one) => ({ embedder: one, role: 'stand_in' as const })),
    ],
    cache: new QueryCache(),
    slots,
    weights: config.hybridWeights ?? defaultWeights,
    rerankWeights: defaultRerankWeights,
    crossEncoder,
    isRefilling: () => indexing.isRefilling,
    isBehind: () => indexing.isBehind,
  })
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
    values: { index, slots, isRefilling: () => indexing.isRefilling, isBehind: () => indexing.isBehind },
    measures: new SearchMeasures(measures),
    indexing: () => state(),
    check: async () => {
      const mustBeWhole = shared || removing.mayReplaceAnother
      try {
        return readiness(await state(pendingCountedMax), mustBeWhole)
      } catch (error) {
        if (!isUnavailability(error)) throw error
        return readinessWithoutBacklog(await index.health(), mustBeWhole && indexing.isRefilling)
      }
    },
    wake: () => indexing.wake(),
    rebuild: (why) => indexing.rebuild(why),
    async reachErasures() {
      try {
        await indexing.reach(await source.newestErasure())
      } catch (error) {
        if (!isUnavailability(error)) throw error
      }
    },
  }
}

function withTracedCalls(registered: RegisteredEmbedders, tracer: Tracer): RegisteredEmbedders {
  const traced = (embedder: Embedder): Embedder =>
    tracer.traceMethods('embedding ', embedder, (_method, args) => {
      const [texts, kind] = args as Parameters<Embedder['embed']>
      return { 'tidemark.model': embedder.model, 'tidemark.texts': texts?.length ?? 0, 'tidemark.kind': kind ?? '' }
    })
  const { embedder, besides, before } = registered
  return { ...registered, embedder: traced(embedder), besides: besides.map(traced), before: before.map(traced) }
}

/**
 * Returns the ID of the index in a data folder. One process at a time can have it, and it stays the same after a
 * restart.
 */
export const ownCopyId = (shared: boolean, dataDir: string): string =>
  shared ? hash('sha256', JSON.stringify([hostname(), resolve(dataDir)])) : 'own'
