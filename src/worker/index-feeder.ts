import type { FedIndex } from '../indexing/fed-index.ts'
import { type FeedStep, feedIndex } from '../indexing/feed-index.ts'
import type { IndexHome } from '../indexing/index-home.ts'
import type { IndexLag } from '../indexing/index-lag.ts'
import type { IndexSource } from '../indexing/index-source.ts'
import { isUnavailability } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import { oneAtATime } from '../platform/one-at-a-time.ts'
import type { Tracer } from '../platform/tracing.ts'
import type { FollowedHistory } from './follow-history.ts'
import {
  type FeederEvent,
  type FeederState,
  isIncomplete,
  isLeader,
  needsNewest,
  startingState,
  stateAfter,
  troubleOf,
} from './index-feeder-state.ts'

export interface IndexFeederParts {
  readonly source: IndexSource
  readonly index: FedIndex
  readonly fedBy: IndexHome['fedBy']
  readonly history: Pick<FollowedHistory, 'lossAtStart' | 'indexIsAhead'> | undefined
  /** Whether this process is the leader, if one process feeds the index for all. */
  readonly elected: () => Promise<boolean>
  readonly lag: IndexLag
  /**
   * Called when everything known about the index is outdated: it is another index, or another process has fed it since.
   */
  readonly reopening: () => void
  /** Called after each step, with its start time. */
  readonly fed: (step: FeedStep, beganAt: number) => void
  readonly aborted: AbortSignal
  readonly logger: Log
  readonly tracer: Tracer
}

/**
 * Feeds the search index, or watches the process that does. `index-feeder-state.ts` has the transitions; this class
 * calls the store, the index and the election, and does the work of each state.
 *
 * Steps, and other changes of the index, run one at a time (`alone`): an index that was exchanged during a step would
 * miss the documents between the two positions.
 */
export class IndexFeeder {
  readonly #parts: IndexFeederParts
  #state: FeederState
  readonly #exclusively = oneAtATime()
  /** The number of callers that wait for the end of a step. */
  #waiting = 0

  constructor(parts: IndexFeederParts) {
    this.#parts = parts
    this.#state = startingState(parts.history?.lossAtStart ?? null)
  }

  /** Whether documents are still missing that were missing when the index was last checked. */
  get isRefilling(): boolean {
    return isIncomplete(this.#state)
  }

  get isFeeding(): boolean {
    return isLeader(this.#state)
  }

  get trouble(): string | null {
    return troubleOf(this.#state)
  }

  /** Runs work that changes the index, or must not run during a change, exclusively. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    this.#waiting++
    return this.#exclusively(() => {
      this.#waiting--
      return work()
    })
  }

  /** Reads the position of the index, before the first search can come. */
  begin(): Promise<void> {
    return this.alone(async () => {
      if (await this.leads()) await this.#open()
      else await this.#look()
    })
  }

  /** Advances the index by one step. Returns whether there may be more at once. */
  step(): Promise<boolean> {
    return this.alone(async () => {
      if (this.#state.kind === 'stopped') return false
      if (!(await this.leads())) {
        await this.#look()
        return false
      }
      try {
        await this.#open()
        return await this.#feed()
      } catch (error) {
        // The message of a defect may contain confidential data.
        this.#apply({ type: 'failed', trouble: isUnavailability(error) ? error.message : 'the log says why' })
        throw error
      }
    })
  }

  /** Whether this process may change the index. Call it within `alone`. */
  async leads(): Promise<boolean> {
    if (this.#state.kind === 'stopped') return false
    const isElected = this.#parts.fedBy === 'each' || (await this.#parts.elected())
    this.#apply({ type: isElected ? 'elected' : 'released' })
    return isElected
  }

  /** Resolves when the index has reached a revision, or cannot continue by itself. */
  async reach(revision: number): Promise<void> {
    while (this.#fedTo < revision && (await this.step()));
  }

  /** Replaces the served index while nothing is being written to it. */
  exchange(replace: () => Promise<void>): Promise<void> {
    return this.alone(async () => {
      await replace()
      this.#apply({ type: 'exchanged' })
    })
  }

  /** Notes that the index belongs to a time that the store has lost. */
  outdate(why: string): Promise<void> {
    return this.alone(async () => this.#apply({ type: 'outdated', why }))
  }

  /** Stops after the current step. */
  stop(): Promise<void> {
    return this.alone(async () => this.#apply({ type: 'stopped' }))
  }

  get #fedTo(): number {
    return this.#state.kind === 'feeding' ? this.#state.position : 0
  }

  /** A leader reads the position of the index if it is unknown, and empties an index that cannot be continued. */
  async #open(): Promise<void> {
    const { source, index, history, lag, logger } = this.#parts
    if (!index.isSound) this.#apply({ type: 'damaged' })
    if (this.#state.kind !== 'opening') return
    const { outdated } = this.#state
    const health = await index.health()
    const newest = await source.newestRevision()
    const isAhead = health.state !== 'needs_rebuild' && health.position > newest
    const ahead = isAhead ? `it is at revision ${health.position}, the store at ${newest}` : null
    // The store has gone back in time. This detects it even without a mark in the data folder.
    if (ahead !== null && outdated === null) await history?.indexIsAhead(health.position)
    const reason = health.state === 'needs_rebuild' ? health.reason : (outdated ?? ahead)
    if (reason !== null) {
      logger.warn({ reason }, 'rebuilding the search index from the store')
      this.#apply({ type: 'rebuild', newest, nowMs: performance.now() })
      await index.clear()
    }
    const position = reason === null ? health.position : 0
    lag.indexed(position)
    this.#apply({ type: 'opened', position, newest, nowMs: performance.now() })
  }

  async #feed(): Promise<boolean> {
    const state = this.#state
    if (state.kind !== 'feeding') throw new Error(`the index is to be fed in the state ${state.kind}`)
    const { source, index, fedBy, lag, fed, aborted, tracer } = this.#parts
    const beganAt = performance.now()
    const step = await feedIndex(source, index, state.position, fedBy, {
      completeAt: state.completeAt,
      isBehind: state.isBehind,
      mayContinue: () => this.#waiting === 0 && !aborted.aborted,
      wrote: (revision) => lag.indexed(revision),
      tracer,
    })
    fed(step, beganAt)
    const { position, documents, isBehind } = step
    const newest = documents === 0 ? null : await this.#newestFor(position)
    this.#apply({ type: 'fed', position, documents, isBehind, newest, nowMs: performance.now() })
    return documents > 0
  }

  /** Reads the position that the leader has reached. */
  async #look(): Promise<void> {
    const position = await this.#parts.index.position()
    this.#parts.lag.indexed(position)
    const newest = await this.#newestFor(position)
    this.#apply({ type: 'looked', position, newest, nowMs: performance.now() })
  }

  async #newestFor(position: number): Promise<number | null> {
    return needsNewest(this.#state, position) ? await this.#parts.source.newestRevision() : null
  }

  #apply(event: FeederEvent): void {
    const before = this.#state
    const state = stateAfter(before, event)
    this.#state = state
    const isReopened = state.kind === 'opening' && state !== before && event.type !== 'failed'
    if (isReopened) this.#parts.reopening()
    this.#logCoverage(before, state)
  }

  /** Each search reports missing documents itself; this logs them once. */
  #logCoverage({ coverage: before }: FeederState, { coverage }: FeederState): void {
    const { logger } = this.#parts
    if (coverage.kind === 'refilling' && before.kind !== 'refilling') {
      const { until } = coverage
      logger.warn({ until }, 'the search index is catching up: searches are incomplete until then, and report it')
    } else if (coverage.kind === 'complete' && before.kind === 'refilling') {
      logger.info({}, 'the search index has all documents of the store')
    }
  }
}
