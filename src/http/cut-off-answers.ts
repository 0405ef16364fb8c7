import { type FastifyRequest, LogController } from 'fastify'

/** Of the lines that the framework itself would log one is wanted: an answer broke off after it had begun. */
export class CutOffAnswers extends LogController {
  constructor() {
    super({ disableRequestLogging: true })
  }

  override streamError(error: Error & { readonly code?: string }, request: FastifyRequest): void {
    // The client went away.
    if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE') request.degraded('answer_cut_off', error)
  }
}
