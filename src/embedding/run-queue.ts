import { FairQueue } from '../fair-queue/fair-queue.ts'
import { type BatchLimits, batchTexts } from './batch-texts.ts'
import type { EmbeddingKind } from './embedder.ts'

export interface Job {
  readonly id: number
  readonly kind: EmbeddingKind
  readonly callers: readonly string[]
  readonly texts: readonly string[]
}

/** Texts that run one after the other in one call of the process. */
export interface Run<J extends Job> {
  readonly job: J
  readonly texts: readonly string[]
  /** The position of the first of them in the job. */
  readonly from: number
}

/**
 * Each call costs about a millisecond of CPU, a tenth of the run of a short text. A run of several texts must take no
 * longer than one text of medium length (80 ms), because others wait for it.
 */
const together: BatchLimits = { textsMax: 8, charsMax: 1_000 }
const alone: BatchLimits = { textsMax: 1, charsMax: 1 }

/** A waiting passage gets a run after this many queries in a row, so that searches never stop indexing. */
const queriesInRowMax = 8

/**
 * Decides the order in which texts reach the model, in runs of one query or a few short passages. Queries come before
 * passages, and each kind is queued fairly between callers.
 *
 * Two concurrent queries never have the same caller: the second process is for a caller that would have to wait for the
 * query of another one. So a single query does not wait behind the many queries of another caller, and one caller alone
 * gets no more than one core. If `queriesAtOnce` queries run, a query waits for the first that ends, for the earlier
 * queries of its own caller and, for each of those, for one query of every other caller.
 *
 * A run of passages does not take the slot of a query. With a process of their own, which has lower priority, passages
 * run beside queries (`passagesBeside`); otherwise a run starts when no query runs, or when eight queries have started
 * since the last one.
 */
export class RunQueue<J extends Job> {
  readonly #waiting: Record<EmbeddingKind, FairQueue<Run<J>>> = { query: new FairQueue(), passage: new FairQueue() }
  /** Texts of each job that have not been handed out yet. */
  readonly #runs = new Map<number, Run<J>[]>()
  readonly #underWay = new Set<Run<J>>()
  readonly #queriesAtOnce: number
  readonly #passagesBeside: boolean
  #queriesInRow = 0

  constructor(options: { readonly queriesAtOnce: number; readonly passagesBeside: boolean }) {
    this.#queriesAtOnce = options.queriesAtOnce
    this.#passagesBeside = options.passagesBeside
  }

  add(job: J): void {
    let from = 0
    const runs = batchTexts(job.texts, job.kind === 'query' ? alone : together).map((texts): Run<J> => {
      from += texts.length
      return { job, texts, from: from - texts.length }
    })
    if (runs.length > 0) this.#runs.set(job.id, runs)
    for (const caller of job.callers) for (const run of runs) this.#waiting[job.kind].add(caller, run)
  }

  /** Adds a caller to the waiting job. */
  join(id: number, caller: string): void {
    for (const run of this.#runs.get(id) ?? []) this.#waiting[run.job.kind].join(caller, run)
  }

  /** Drops the texts of the job that have not been handed out yet. */
  remove(id: number): void {
    for (const run of this.#runs.get(id) ?? []) this.#waiting[run.job.kind].remove(run)
    this.#runs.delete(id)
  }

  /** The next run; `null` if nothing can run until a job arrives or a run ends. */
  next(): Run<J> | null {
    const isPassageDue = this.#queriesInRow >= queriesInRowMax
    const run = isPassageDue
      ? (this.#takePassage() ?? this.#takeQuery())
      : (this.#takeQuery() ?? this.#takePassageAfterQueries())
    if (run === null) return null
    this.#underWay.add(run)
    this.#queriesInRow = run.job.kind === 'query' ? this.#queriesInRow + 1 : 0
    return run
  }

  /** Must be called when the run has ended, whatever its result. */
  finish(run: Run<J>): void {
    this.#underWay.delete(run)
  }

  #takeQuery(): Run<J> | null {
    const queries = [...this.#underWay].filter(({ job }) => job.kind === 'query')
    if (queries.length >= this.#queriesAtOnce) return null
    const callers = new Set(queries.flatMap(({ job }) => job.callers))
    return this.#handOut(this.#waiting.query.take(callers))
  }

  #takePassage(): Run<J> | null {
    for (const { job } of this.#underWay) if (job.kind === 'passage') return null
    return this.#handOut(this.#waiting.passage.take())
  }

  #takePassageAfterQueries(): Run<J> | null {
    return this.#passagesBeside || this.#underWay.size === 0 ? this.#takePassage() : null
  }

  #handOut(run: Run<J> | undefined): Run<J> | null {
    if (run === undefined) return null
    const { id } = run.job
    const left = this.#runs.get(id)!
    left.shift()
    if (left.length === 0) this.#runs.delete(id)
    return run
  }
}
