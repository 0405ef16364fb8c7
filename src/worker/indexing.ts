import type { Embedder } from '../embedding/embedder.ts'
import type { FedIndex } from '../indexing/fed-index.ts'
import { ReplacedVectors, VectorFollower } from '../indexing/follow-vectors.ts'
import type { IndexHome } from '../indexing/index-home.ts'
import { IndexLag } from '../indexing/index-lag.ts'
import type { IndexSource } from '../indexing/index-source.ts'
import type { IndexingMeasures } from '../indexing/indexing-measures.ts'
import type { IndexingWork } from '../indexing/indexing-state.ts'
import { Rate } from '../indexing/rate.ts'
import type { Incidents } from '../platform/incidents.ts'
import type { Log } from '../platform/log.ts'
import { type Tracer, untraced } from '../platform/tracing.ts'
import type { WriteNotifications } from '../platform/write-notifications.ts'
import type { FollowedHistory } from './follow-history.ts'
import { IndexFeeder } from './index-feeder.ts'
import { type Repeating, repeat } from './repeating.ts'
import { VectorMaker } from './vector-maker.ts'

/**
 * Changes that this process makes or is notified of wake the loops at once. Changes of a command on the same SQLite
 * store, and on PostgreSQL those with a lost notification, are found after this time.
 */
const lookPauses = { everyMs: 500, whenIdleMs: 2000 }
/** The precision of the measured lag. A look costs the store next to nothing. */
const lagPauses = { everyMs: 1000, whenIdleMs: 2000 }

const late = 'the search index lags behind acknowledged writes: searches report it until it has caught up'

export interface Indexing extends IndexingWork {
  /** Call it when there may be something new to index. */
  wake(): void
  /** Resolves when the index has reached a revision, or cannot continue by itself. */
  reach(revision: number): Promise<void>
  /**
   * Replaces the served index while nothing is being written to it; from then on the position of the new one counts.
   */
  exchange(replace: () => Promise<void>): Promise<void>
  /**
   * Notes that the index belongs to a time that the store has lost: the process that feeds it empties and refills it.
   */
  rebuild(why: string): Promise<void>
  stop(): Promise<void>
}

export interface IndexingParts {
  readonly source: IndexSource
  readonly index: FedIndex
  readonly fedBy: IndexHome['fedBy']
  readonly history?: Pick<FollowedHistory, 'lossAtStart' | 'indexIsAhead'>
  /** One for every profile that has vectors, the default one first. */
  readonly embedders: readonly Embedder[]
  /** Called after vectors were made. */
  readonly learn: () => Promise<void>
  /** Whether several processes share the store. */
  readonly shared: boolean
  /** Whether this process leads the election, and so works for all of them. */
  readonly elected: (election: 'vectors' | 'feeding') => Promise<boolean>
  readonly incidents: Incidents
  readonly logger: Log
  readonly measures: Pick<IndexingMeasures, 'fed' | 'madeVectors'>
  readonly tracer?: Tracer
  readonly notifications?: WriteNotifications | null
  /** The clock that measures the lag, in milliseconds. */
  readonly clock?: () => number
}

/**
 * Keeps the search index up to date with the store: words first, then vectors, each in its own loop, so that a slow or
 * missing embedding endpoint never delays keyword search. An index that is damaged, or ahead of its store (which was
 * restored from a backup), is emptied and refilled. `index-feeder-state.ts` draws the states and transitions.
 *
 * Only one of these runs at a time: a step of words, handing over vectors, the exchange of the index. A vector that
 * came before its words would be lost, because the index does not know the chunk yet. It is kept when it comes after
 * its words or together with them.
 *
 * If several processes share a store, one of them makes the vectors. If each process has its own index, each feeds its
 * own and copies the vectors from the store. An index that all of them search is fed by the elected process, words and
 * vectors; the others, including the one that makes vectors, do not change it. For a moment two processes may both
 * believe that they are elected; the index takes no batch twice.
 */
export async function startIndexing(parts: IndexingParts): Promise<Indexing> {
  const { source, index, fedBy, embedders, learn, shared, elected, incidents, logger, measures, history } = parts
  const { tracer = untraced, notifications = null } = parts
  const pauses = { ...lookPauses, notifications }
  const lag = new IndexLag(parts.clock)
  const abort = new AbortController()
  const fed = new Rate()
  const followerOf = ({ profileId }: Embedder): VectorFollower => {
    const lost = (chunks: number): void =>
      logger.warn({ chunks, profileId }, 'chunks without a vector were not queued for one: they are now')
    return new VectorFollower({ source, index, profileId, shared, lost })
  }
  const models = embedders.map((embedder) => ({ embedder, follower: followerOf(embedder) }))
  const profileIds = embedders.map(({ profileId }) => profileId)
  const replaced = new ReplacedVectors(source, index, profileIds)
  const followers = [...models.map(({ follower }) => follower), replaced]
  const feeder = new IndexFeeder({
    source,
    index,
    fedBy,
    history,
    elected: () => elected('feeding'),
    lag,
    reopening: () => {
      for (const follower of followers) follower.walkAgain()
    },
    fed: (step, beganAt) => {
      fed.made(step.documents, beganAt)
      measures.fed(step.documents)
      for (const { follower } of models) follower.fed(step)
      if (step.documents > 0) making.wake()
    },
    aborted: abort.signal,
    logger,
    tracer,
  })
  const whereLeader = <T>(work: () => Promise<T>): Promise<T | null> =>
    feeder.alone(async () => ((await feeder.leads()) ? await work() : null))
  const follow = async (): Promise<boolean> => {
    let found = false
    for (const follower of followers) found = (await follower.follow()) || found
    return found
  }
  const maker = new VectorMaker({
    source,
    index,
    models,
    elected: () => elected('vectors'),
    handOver: whereLeader,
    learn,
    aborted: abort.signal,
    logger,
    measures,
    tracer,
  })
  const lagNotice = new LagNotice(logger)
  /** Runs beside the feeding, which may wait for the index. */
  const lookAtLag = async (): Promise<boolean> => {
    lag.stored(await source.newestRevision())
    lagNotice.tell(lag.isBehind)
    return false
  }

  // Known before the first search can come. If this fails, the loops below report it and try again.
  try {
    await feeder.begin()
    await replaced.begin()
  } catch {}
  const watching = repeat('index-lag', { ...lagPauses, notifications }, lookAtLag, incidents)
  const feeding = repeat('indexing', pauses, () => feeder.step(), incidents)
  const following = repeat('follow-vectors', pauses, async () => (await whereLeader(follow)) ?? false, incidents)
  const making: Repeating = repeat('vectors', pauses, () => maker.step(), incidents)
  const wakeForAnother = (): void => {
    feeding.wake()
    following.wake()
  }

  return {
    get isRefilling() {
      return feeder.isRefilling
    },
    get isBehind() {
      return lag.isBehind
    },
    get isFeeding() {
      return feeder.isFeeding
    },
    get isMakingVectors() {
      return maker.isLeader
    },
    get documentsPerSecond() {
      return fed.perSecond
    },
    get vectorsPerSecond() {
      return maker.perSecond
    },
    get trouble() {
      return feeder.trouble
    },
    wake: () => feeding.wake(),
    reach: (revision) => feeder.reach(revision),
    async exchange(replace) {
      await feeder.exchange(replace)
      wakeForAnother()
    },
    async rebuild(why) {
      await feeder.outdate(why)
      wakeForAnother()
    },
    async stop() {
      abort.abort()
      await Promise.all([watching.stop(), feeding.stop(), following.stop(), making.stop()])
      await feeder.stop()
    },
  }
}

/** Searches of every process report that the index is late. This logs when that begins and when it ends. */
class LagNotice {
  readonly #logger: Log
  #isLate = false

  constructor(logger: Log) {
    this.#logger = logger
  }

  tell(isLate: boolean): void {
    if (isLate && !this.#isLate) this.#logger.warn({}, late)
    else if (this.#isLate && !isLate) this.#logger.info({}, 'the search index has caught up with acknowledged writes')
    this.#isLate = isLate
  }
}
