import type { Count, Measures } from '../platform/measures.ts'
import { type IngestResult, outcomes, refusalCodes } from './content-store.ts'

/** Counts the results of documents that were sent. */
export class IngestMeasures {
  readonly #taken: Count<'outcome'>
  readonly #refused: Count<'code'>

  constructor(measures: Measures) {
    this.#taken = measures.counter({
      name: 'tidemark_ingest_documents_total',
      help: 'Documents that were sent and accepted, by outcome.',
      labels: ['outcome'],
      known: outcomes.map((outcome) => ({ outcome })),
    })
    this.#refused = measures.counter({
      name: 'tidemark_ingest_refused_total',
      help: 'Documents that were sent and refused, by reason, and streams of lines that ended early.',
      labels: ['code'],
      known: refusalCodes.map((code) => ({ code })),
    })
  }

  answered(result: IngestResult): void {
    if ('refusal' in result) this.#refused({ code: result.refusal.code })
    else this.#taken({ outcome: result.outcome })
  }
}
