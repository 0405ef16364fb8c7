import type { Embedder } from '../embedding/embedder.ts'
import { isUnavailability } from '../errors.ts'
import type { Incidents } from '../incidents.ts'
import type { Log } from '../log.ts'
import { oneAtATime } from '../one-at-a-time.ts'
import { feedIndex } from '../search/feed-index.ts'
import { ReplacedVectors, VectorFollower } from '../search/follow-vectors.ts'
import type { IndexHome } from '../search/index-home.ts'
import type { IndexSource } from '../search/index-source.ts'
import type { IndexingMeasures } from '../search/indexing-measures.ts'
import type { IndexingWork } from '../search/indexing-state.ts'
import { makeVectors } from '../search/make-vectors.ts'
import { Rate } from '../search/rate.ts'
import type { SearchIndex } from '../search/search-index.ts'
import type { WriteNews } from '../write-news.ts'
import { type Repeating, repeat } from './repeating.ts'

/**
 * Changes that this process makes or hears of wake the loops at once. Those of a command that works on the same SQLite
 * store, and on PostgreSQL those that were not heard of, are found this late.
 */
const lookPauses = { everyMs: 500, whenIdleMs: 2000 }

export interface Indexing extends IndexingWork {
  /** There may be something new to index. */
  wake(): void
  /** Resolves when the index has all up to a revision, or cannot go on by itself. */
  reach(revision: number): Promise<void>
  /** Puts another index in place of the served one while nothing is being written to it; its own position counts then. */
  exchange(replace: () => Promise<void>): Promise<void>
  stop(): Promise<void>
}

export interface IndexingParts {
  readonly source: IndexSource
  readonly index: SearchIndex
  readonly fedBy: IndexHome['fedBy']
  /** Of every profile that vectors are made of, the default one first. */
  readonly embedders: readonly Embedder[]
  /** Called after vectors were made. */
  readonly learn: () => Promise<void>
  /** Several processes share the store. */
  readonly shared: boolean
  /** Whether it falls to this process to do something for all of them. */
  readonly elected: (office: 'vectors' | 'feeding') => Promise<boolean>
  readonly incidents: Incidents
  readonly logger: Log
  readonly measures: Pick<IndexingMeasures, 'fed' | 'madeVectors'>
  readonly news?: WriteNews | null
}

/**
 * Keeps the search index up with the store: words first, vectors after them, each in its own loop so that a slow or
 * missing embedding endpoint never delays keyword search. An index that is damaged, or ahead of its store (which was put
 * back from a copy), is emptied and fed anew.
 *
 * One at a time: a step of words, the handing over of vectors, the exchange of the index. A vector that came before its
 * words would be lost, because the index does not know the chunk yet; after them, or read with them, it is not. An
 * index that was exchanged in the middle of a step would miss what lies between the two positions.
 *
 * Where several processes share a store, one of them makes the vectors. An index that each process has for itself is fed
 * by each, which brings into it what the maker put into the store. One that they all search is fed by the one that is
 * elected, words and vectors; the others leave it as it is, the maker of vectors too. For a moment two may take themselves
 * for elected: the index takes no batch twice.
 */
export async function startIndexing(parts: IndexingParts): Promise<Indexing> {
  const { source, index, fedBy, embedders, learn, shared, elected, incidents, logger, measures } = parts
  const pauses = { ...lookPauses, news: parts.news ?? null }
  /** Where the index stands; null while that is not known. */
  let position: number | null = null
  /** The index had all there was at this revision. 0 while that is not known: it may have been stopped half fed. */
  let wholeAt = 0
  /** Where the index has all that it was found to lack; 0 before it was looked at, null when it has all. */
  let refilledAt: number | null = 0
  /** Searches say of themselves that documents are missing, each of them: here it is logged, once. */
  const refill = (until: number | null): void => {
    const wasRefilling = refilledAt !== null && refilledAt > 0
    refilledAt = until
    if (until !== null && !wasRefilling) {
      logger.warn({ until }, 'the search index is catching up: searches are incomplete until then, and say so')
    } else if (until === null && wasRefilling) logger.info({}, 'the search index has all documents of the store')
  }
  /** More waits than a step takes. */
  let isBehind = false
  let isFeeding = fedBy === 'each'
  let trouble: string | null = null
  let isMakingVectors = false
  const abort = new AbortController()
  const inTurn = oneAtATime()
  /** Those that wait for the end of a step. */
  let waiting = 0
  const alone = <T>(work: () => Promise<T>): Promise<T> => {
    waiting++
    return inTurn(() => {
      waiting--
      return work()
    })
  }
  const fed = new Rate()
  const rate = new Rate()
  const followers = embedders.map(
    ({ profileId }) =>
      new VectorFollower({
        source,
        index,
        profileId,
        shared,
        lost: (chunks) =>
          logger.warn({ chunks, profileId }, 'chunks had no vector and did not wait for one: they do now'),
      }),
  )
  const replaced = new ReplacedVectors(
    source,
    index,
    embedders.map(({ profileId }) => profileId),
  )

  /** What is known of the index is of another one, or of the time before another process fed it. */
  const forget = (): void => {
    position = null
    wholeAt = 0
    for (const follower of [...followers, replaced]) follower.walkAgain()
  }

  /** Whether it falls to this process to change the index. */
  const feeds = async (): Promise<boolean> => {
    const falls = fedBy === 'each' || (await elected('feeding'))
    if (falls && !isFeeding) forget()
    isFeeding = falls
    return falls
  }

  /** Whether it falls to this process to make vectors; not, as long as it cannot be asked. */
  const makesVectors = async (): Promise<boolean> => {
    try {
      isMakingVectors = await elected('vectors')
    } catch (error) {
      isMakingVectors = false
      throw error
    }
    return isMakingVectors
  }

  /** Where the index stands; an index that cannot be gone on from is emptied. */
  const startPosition = async (): Promise<number> => {
    const health = await index.health()
    const newest = await source.newestRevision()
    const reason =
      health.state === 'needs_rebuild'
        ? health.reason
        : health.position > newest
          ? `it is at revision ${health.position}, the store at ${newest}`
          : null
    if (reason !== null) {
      logger.warn({ reason }, 'the search index is built anew from the store')
      await index.clear()
    }
    const start = reason === null ? health.position : 0
    if (refilledAt !== null || reason !== null) refill(start < newest ? newest : null)
    return start
  }

  /** How far the process that feeds the index is. It may begin anew at any time. */
  const look = async (): Promise<void> => {
    const found = await index.position()
    if (refilledAt === 0 || (position !== null && found < position)) {
      const newest = await source.newestRevision()
      refill(found < newest ? newest : null)
    } else if (refilledAt !== null && found >= refilledAt) refill(null)
    position = found
  }

  const feed = async (): Promise<boolean> => {
    if (!(await feeds())) {
      trouble = null
      await look()
      return false
    }
    try {
      if (!index.isSound) forget()
      position ??= await startPosition()
      const beganAt = performance.now()
      const mayGoOn = (): boolean => waiting === 0 && !abort.signal.aborted
      const step = await feedIndex(source, index, position, fedBy, { wholeAt, isBehind, mayGoOn })
      isBehind = step.isBehind
      trouble = null
      fed.made(step.documents, beganAt)
      measures.fed(step.documents)
      position = step.position
      if (step.documents === 0) wholeAt = position
      if (refilledAt !== null && (position >= refilledAt || step.documents === 0)) refill(null)
      for (const follower of followers) follower.fed(step)
      if (step.documents > 0) vectors.wake()
      return step.documents > 0
    } catch (error) {
      // The index knows best where it stands.
      position = null
      wholeAt = 0
      // What a defect says may hold what nobody outside should read.
      trouble = isUnavailability(error) ? error.message : 'the log says why'
      throw error
    }
  }
  const follow = async (): Promise<boolean> => {
    if (!(await feeds())) return false
    let found = false
    for (const follower of [...followers, replaced]) found = (await follower.follow()) || found
    return found
  }
  /** Returns whether there may be more at once. */
  const make = async (embedder: Embedder, follower: VectorFollower): Promise<boolean> => {
    const beganAt = performance.now()
    const { made, refused } = await makeVectors(source, index, embedder, handOver, abort.signal)
    rate.made(made.length, beganAt)
    measures.madeVectors(embedder.profileId, made.length)
    follower.have([...made, ...refused])
    if (refused.length > 0) {
      logger.warn({ chunks: refused }, 'the embedding model refuses the texts of these chunks: only words find them')
    }
    return made.length + refused.length > 0
  }
  const handOver = <T>(work: () => Promise<T>): Promise<T | null> =>
    alone(async () => ((await feeds()) ? await work() : null))

  // Known before the first search can come; where it fails, the loop below says so and tries again.
  try {
    if (await feeds()) position = await startPosition()
    else await look()
    await replaced.begin()
  } catch {}
  const words = repeat('indexing', pauses, () => alone(feed), incidents)
  const following = repeat('follow-vectors', pauses, () => alone(follow), incidents)
  const vectors: Repeating = repeat(
    'vectors',
    pauses,
    async () => {
      if (!(await makesVectors())) return false
      const failures: unknown[] = []
      let more = false
      // In turn, and a model that fails does not keep the others from theirs.
      for (const [i, embedder] of embedders.entries()) {
        await make(embedder, followers[i]!).then(
          (made) => {
            more ||= made
          },
          (error) => failures.push(error),
        )
      }
      if (failures.length > 0) throw failures[0]
      await learn()
      return more
    },
    incidents,
  )

  return {
    get isRefilling() {
      return refilledAt !== null
    },
    get isFeeding() {
      return isFeeding
    },
    get isMakingVectors() {
      return isMakingVectors
    },
    get documentsPerSecond() {
      return fed.perSecond
    },
    get vectorsPerSecond() {
      return rate.perSecond
    },
    get trouble() {
      return trouble
    },
    wake: () => words.wake(),
    async reach(revision) {
      while ((position ?? 0) < revision && (await alone(feed)));
    },
    async exchange(replace) {
      await alone(async () => {
        await replace()
        forget()
      })
      words.wake()
      following.wake()
    },
    async stop() {
      abort.abort()
      await Promise.all([words.stop(), following.stop(), vectors.stop()])
    },
  }
}
