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
import { EmbeddingWorker } from './embedding-worker.ts'
import type { FollowedHistory } from './follow-history.ts'
import { IndexFeeder } from './index-feeder.ts'
import { type Repeating, repeat } from './repeating.ts'

/**
 * Changes that this process makes or is notified of wake the loops at once. This is how long it takes to find changes
 * by a command on the same SQLite store, and on PostgreSQL those with a lost notification.
 */
const checkPauses = { everyMs: 500, whenIdleMs: 2000 }
/** The precision of the measured lag. Measuring it is cheap. */
const lagPauses = { everyMs: 1000, whenIdleMs: 2000 }

const lagging = 'the search index lags behind acknowledged writes: searches report it until it has caught up'

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
   * Notes that the index has documents that the store has lost. The process that feeds it then empties and refills it.
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
  /** Registers the dimensions of a remote model after the endpoint's first answer. */
  readonly registerDimensions: () => Promise<void>
  /** Whether several processes share the store. */
  readonly shared: boolean
  /** Whether this process has won the election, and does this work for all of them. */
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
 * Feeding words, copying vectors into the index and exchanging the index never run at the same time. A vector that came
 * before its words would be lost, because the index does not know the chunk yet.
 *
 * If several processes share a store, one of them makes the vectors. If each process has its own index, each feeds its
 * own and copies the vectors from the store. An index that all of them search is fed words and vectors by the elected
 * process; the others, including the one that makes vectors, do not change it. For a moment two processes may both
 * believe that they are elected, but the index accepts no batch twice.
 */
export async function startIndexing(parts: IndexingParts): Promise<Indexing> {
  const { source, index, fedBy, embedders, registerDimensions, shared, elected, incidents, logger, measures, history } =
    parts
  const { tracer = untraced, notifications = null } = parts
  const pauses = { ...checkPauses, notifications }
  const lag = new IndexLag(parts.clock)
  const abort = new AbortController()
  const fed = new Rate()
  const followerOf = ({ profileId }: Embedder): VectorFollower => {
    const lost = (chunks: number): void =>
      logger.warn({ chunks, profileId }, 'chunks without a vector were missing from the queue: they were added')
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
  const ifLeader = <T>(work: () => Promise<T>): Promise<T | null> =>
    feeder.alone(async () => ((await feeder.leads()) ? await work() : null))
  const follow = async (): Promise<boolean> => {
    let found = false
    for (const follower of followers) found = (await follower.follow()) || found
    return found
  }
  const maker = new EmbeddingWorker({
    source,
    index,
    models,
    elected: () => elected('vectors'),
    exclusively: ifLeader,
    registerDimensions,
    aborted: abort.signal,
    logger,
    measures,
    tracer,
  })
  const lagNotice = new LagNotice(logger)
  /** Runs independently of feeding, which may wait for the index. */
  const checkLag = async (): Promise<boolean> => {
    lag.stored(await source.newestRevision())
    lagNotice.update(lag.isBehind)
    return false
  }

  // The position must be known before the first search. If this fails, the loops below report it and try again.
  try {
    await feeder.begin()
    await replaced.begin()
  } catch {}
  const watching = repeat('index-lag', { ...lagPauses, notifications }, checkLag, incidents)
  const feeding = repeat('indexing', pauses, () => feeder.step(), incidents)
  const following = repeat('follow-vectors', pauses, async () => (await ifLeader(follow)) ?? false, incidents)
  const making: Repeating = repeat('vectors', pauses, () => maker.step(), incidents)
  const wakeAfterReplacement = (): void => {
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
      wakeAfterReplacement()
    },
    async rebuild(why) {
      await feeder.outdate(why)
      wakeAfterReplacement()
    },
    async stop() {
      abort.abort()
      await Promise.all([watching.stop(), feeding.stop(), following.stop(), making.stop()])
      await feeder.stop()
    },
  }
}

/** Logs when the index begins to lag and when it has caught up. Searches report the lag themselves. */
class LagNotice {
  readonly #logger: Log
  #isLate = false

  constructor(logger: Log) {
    this.#logger = logger
  }

  update(isLate: boolean): void {
    if (isLate && !this.#isLate) this.#logger.warn({}, lagging)
    else if (this.#isLate && !isLate) this.#logger.info({}, 'the search index has caught up with acknowledged writes')
    this.#isLate = isLate
  }
}
