import type { EmbeddingKind } from './embedder.ts'

export interface Job {
  readonly id: number
  readonly kind: EmbeddingKind
  readonly texts: readonly string[]
}

export interface Run<J extends Job> {
  readonly job: J
  readonly textIndex: number
}

/** After so many queries in a row a waiting passage gets one run, so that searching never stops indexing. */
const queriesInRowMax = 8

/**
 * The order in which texts reach the model, one text at a time: queries before passages, each kind first come first
 * served. A query that arrives waits for at most the run in progress, the queries before it, and one passage in eight.
 */
export class RunQueue<J extends Job> {
  readonly #waiting: Record<EmbeddingKind, Map<number, { job: J; next: number }>> = {
    query: new Map(),
    passage: new Map(),
  }
  #queriesInRow = 0

  add(job: J): void {
    if (job.texts.length > 0) this.#waiting[job.kind].set(job.id, { job, next: 0 })
  }

  /** Forgets what of the job has not been handed out yet. */
  remove(id: number): void {
    this.#waiting.query.delete(id)
    this.#waiting.passage.delete(id)
  }

  next(): Run<J> | null {
    const passagesTurn = this.#queriesInRow >= queriesInRowMax
    const run = passagesTurn
      ? (this.#take('passage') ?? this.#take('query'))
      : (this.#take('query') ?? this.#take('passage'))
    this.#queriesInRow = run?.job.kind === 'query' ? this.#queriesInRow + 1 : 0
    return run
  }

  #take(kind: EmbeddingKind): Run<J> | null {
    const first = this.#waiting[kind].values().next().value
    if (first === undefined) return null
    const textIndex = first.next++
    if (first.next >= first.job.texts.length) this.#waiting[kind].delete(first.job.id)
    return { job: first.job, textIndex }
  }
}
