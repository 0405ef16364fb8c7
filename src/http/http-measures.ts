import { kindOf } from '../access/credential-kinds.ts'
import type { Principal } from '../access/principal.ts'
import { type ErrorCode, errorTable } from '../platform/errors.ts'
import { type Count, type Measures, type Observe, secondsBuckets } from '../platform/measures.ts'

const codesOf = (isOne: (status: number) => boolean): ErrorCode[] =>
  Object.entries(errorTable).flatMap(([code, { status }]) => (isOne(status) ? [code as ErrorCode] : []))

/** Measurements of requests. */
export class HttpMeasures {
  readonly #request: Observe<'operation' | 'status'>
  readonly #error: Count<'code'>
  readonly #degraded: Count<'warning'>
  readonly #refused: Count<'code' | 'application'>

  constructor(measures: Measures) {
    this.#request = measures.histogram({
      name: 'tidemark_http_request_seconds',
      help: 'Time to answer, by operation and status, without the time that an answer was held for an event.',
      labels: ['operation', 'status'],
      buckets: secondsBuckets,
    })
    this.#error = measures.counter({
      name: 'tidemark_errors_total',
      help: 'Answers with a 5xx status, by error code.',
      labels: ['code'],
      known: codesOf((status) => status >= 500).map((code) => ({ code })),
    })
    this.#degraded = measures.counter({
      name: 'tidemark_degraded_answers_total',
      help: 'Degraded answers, by warning.',
      labels: ['warning'],
      known: degradations.map((warning) => ({ warning })),
    })
    this.#refused = measures.counter({
      name: 'tidemark_refusals_total',
      help: 'Requests refused with 429, by code and application; applications beyond a limit are other.',
      labels: ['code', 'application'],
      known: codesOf((status) => status === 429).map((code) => ({ code, application: 'other' })),
      anyNumber: 'application',
    })
  }

  request(operation: string, status: number, seconds: number): void {
    this.#request({ operation, status: String(status) }, seconds)
  }

  errorAnswered(code: ErrorCode, principal: Principal | null): void {
    const { status } = errorTable[code]
    if (status >= 500) this.#error({ code })
    const application = principal === null ? null : kindOf(principal).counted(principal)
    if (status === 429 && application !== null) this.#refused({ code, application })
  }

  answerDegraded(warning: Degradation): void {
    this.#degraded({ warning })
  }
}

/** The ways in which an answer can be degraded. */
export const degradations = [
  'vector_search_unavailable',
  'keyword_search_timed_out',
  'live_query_unavailable',
  'search_index_rebuilding',
  'search_index_behind',
  'rerank_unavailable',
  'not_stored',
  'export_incomplete',
  'answer_cut_off',
] as const
export type Degradation = (typeof degradations)[number]
