import type { Embedder } from '../embedding/embedder.ts'
import type { FedIndex } from '../indexing/fed-index.ts'
import type { VectorFollower } from '../indexing/follow-vectors.ts'
import type { IndexSource } from '../indexing/index-source.ts'
import type { IndexingMeasures } from '../indexing/indexing-measures.ts'
import { makeVectors } from '../indexing/make-vectors.ts'
import { Rate } from '../indexing/rate.ts'
import type { Log } from '../platform/log.ts'
import type { Tracer } from '../platform/tracing.ts'

export interface EmbeddingWorkerParts {
  readonly source: IndexSource
  readonly index: FedIndex
  /** The models that make vectors, each with the follower that copies their vectors to the index. */
  readonly models: readonly { readonly embedder: Embedder; readonly follower: VectorFollower }[]
  /** Whether this process makes the vectors for all. */
  readonly elected: () => Promise<boolean>
  /**
   * Runs work that writes vectors to the index, but not during another index write; null if another process feeds it.
   */
  readonly exclusively: <T>(work: () => Promise<T>) => Promise<T | null>
  /** Registers the dimensions of a remote model after the endpoint's first answer. */
  readonly registerDimensions: () => Promise<void>
  readonly aborted: AbortSignal
  readonly logger: Log
  readonly measures: Pick<IndexingMeasures, 'madeVectors'>
  readonly tracer: Tracer
}

/** Makes the vectors that chunks wait for, while this process is elected. */
export class EmbeddingWorker {
  readonly #parts: EmbeddingWorkerParts
  readonly #rate = new Rate()
  #isLeader = false

  constructor(parts: EmbeddingWorkerParts) {
    this.#parts = parts
  }

  /** Whether this process was elected at the last check; false if the check failed. */
  get isLeader(): boolean {
    return this.#isLeader
  }

  get perSecond(): number | null {
    return this.#rate.perSecond
  }

  /** Makes the next vectors with each model. Returns whether there may be more to do now. */
  async step(): Promise<boolean> {
    if (!(await this.#leads())) return false
    const failures: unknown[] = []
    let hasMore = false
    // A model that fails does not stop the others.
    for (const { embedder, follower } of this.#parts.models) {
      try {
        hasMore = (await this.#make(embedder, follower)) || hasMore
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
    await this.#parts.registerDimensions()
    return hasMore
  }

  async #leads(): Promise<boolean> {
    this.#isLeader = await this.#parts.elected().catch((error: unknown) => {
      this.#isLeader = false
      throw error
    })
    return this.#isLeader
  }

  async #make(embedder: Embedder, follower: VectorFollower): Promise<boolean> {
    const { source, index, exclusively, aborted, logger, measures, tracer } = this.#parts
    const beganAt = performance.now()
    const { made, refused } = await makeVectors(source, index, embedder, exclusively, aborted, tracer)
    this.#rate.made(made.length, beganAt)
    measures.madeVectors(embedder.profileId, made.length)
    follower.stopAwaiting([...made, ...refused])
    if (refused.length > 0) {
      logger.warn(
        { chunks: refused },
        'the embedding model rejected the texts of these chunks: only keyword search finds them',
      )
    }
    return made.length + refused.length > 0
  }
}
