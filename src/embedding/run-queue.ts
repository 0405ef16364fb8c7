import { FairQueue } from '../turns/fair-queue.ts'
import { type BatchLimits, batchTexts } from './batch-texts.ts'
import type { EmbeddingKind } from './embedder.ts'

export interface Job {
  readonly id: number
  readonly kind: EmbeddingKind
  readonly callers: readonly string[]
  readonly texts: readonly string[]
}

/** Texts that are run one after the other, without coming back in between. */
export interface Run<J extends Job> {
  readonly job: J
  readonly texts: readonly string[]
  /** The place of the first of them among those of the job. */
  readonly from: number
}

/**
 * To come back after every text costs about a millisecond of CPU, a tenth of a short one; a run of several must not be longer
 * than one of a text of middle length (80 ms), for which others wait too.
 */
const bundle: BatchLimits = { textsMax: 8, charsMax: 1_000 }
const alone: BatchLimits = { textsMax: 1, charsMax: 1 }

/** After so many queries in a row a waiting passage gets one run, so that searching never stops indexing. */
const queriesInRowMax = 8

/**
 * The order in which texts reach the model, a query or a few short passages a run: queries before passages, each kind in turn
 * between its callers. Two queries at once are never of one caller: the second is for whoever would have to wait for
 * somebody else's, so that a query beside a crowd begins at once, and a crowd alone gets no more than one core. Where all of
 * `queriesAtOnce` are taken it waits for the first that ends, the queries of its own caller, and one query of each other
 * caller for each of those. One run of passages takes no query's place: where they have a process of their own, which gives way
 * to those of queries, it goes on beside them (`passagesBeside`); otherwise it begins where no query is, or eight have begun since the last.
 */
export class RunQueue<J extends Job> {
  readonly #waiting: Record<EmbeddingKind, FairQueue<Run<J>>> = { query: new FairQueue(), passage: new FairQueue() }
  /** What of each job has not been handed out yet. */
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
    const runs = batchTexts(job.texts, job.kind === 'query' ? alone : bundle).map((texts): Run<J> => {
      from += texts.length
      return { job, texts, from: from - texts.length }
    })
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

  /** What is to be run now; `null` when that is nothing, until something comes or a run is over. */
  next(): Run<J> | null {
    const passagesTurn = this.#queriesInRow >= queriesInRowMax
    const run = passagesTurn
      ? (this.#takePassage() ?? this.#takeQuery())
      : (this.#takeQuery() ?? this.#takePassageAfterQueries())
    if (run === null) return null
    this.#underWay.add(run)
    this.#queriesInRow = run.job.kind === 'query' ? this.#queriesInRow + 1 : 0
    return run
  }

  /** The run has ended, however. */
  over(run: Run<J>): void {
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
