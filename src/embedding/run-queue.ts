import { FairQueue } from '../turns/fair-queue.ts'
import type { EmbeddingKind } from './embedder.ts'

export interface Job {
  readonly id: number
  readonly kind: EmbeddingKind
  readonly callers: readonly string[]
  readonly texts: readonly string[]
}

export interface Run<J extends Job> {
  readonly job: J
  readonly textIndex: number
}

/** After so many queries in a row a waiting passage gets one run, so that searching never stops indexing. */
const queriesInRowMax = 8

/**
 * The order in which texts reach the model, one text at a time: queries before passages, each kind in turn between its
 * callers. A query that arrives waits for at most the run in progress, the queries of its own caller, one query of each
 * other caller for each of those, and one passage in eight.
 */
export class RunQueue<J extends Job> {
  readonly #waiting: Record<EmbeddingKind, FairQueue<Run<J>>> = { query: new FairQueue(), passage: new FairQueue() }
  /** What of each job has not been handed out yet. */
  readonly #runs = new Map<number, Run<J>[]>()
  #queriesInRow = 0

  add(job: J): void {
    const runs = job.texts.map((_, textIndex) => ({ job, textIndex }))
    if (runs.length > 0) this.#runs.set(job.id, runs)
    for (const caller of job.callers) for (const run of runs) this.#waiting[job.kind].add(caller, run)
  }

  /** One more waits for the job. */
  join(id: number, caller: string): void {
    for (const run of this.#runs.get(id) ?? []) this.#waiting[run.job.kind].join(caller, run)
  }

  /** Forgets what of the job has not been handed out yet. */
  remove(id: number): void {
    for (const run of this.#runs.get(id) ?? []) this.#waiting[run.job.kind].remove(run)
    this.#runs.delete(id)
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
    const run = this.#waiting[kind].take()
    if (run === undefined) return null
    const { id } = run.job
    const left = this.#runs.get(id)!
    left.shift()
    if (left.length === 0) this.#runs.delete(id)
    return run
  }
}
