import { DiagLogLevel, diag } from '@opentelemetry/api'

/** The library logs this before the response as JSON. */
const partialSuccess = 'Received Partial Success response:'

/**
 * A collector may accept a batch but reject some of its spans. The library reports this only as a warning in its own
 * log, directly before it reports the batch as sent. The number is kept from the warning until the batch is counted.
 */
export class RejectedSpans {
  #rejected = 0

  constructor() {
    const ignore = (): void => {}
    const warn = (message: string, answer: unknown): void => {
      if (message === partialSuccess) this.#rejected = rejectedIn(String(answer))
    }
    const logger = { error: ignore, warn, info: ignore, debug: ignore, verbose: ignore }
    diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
  }

  /** Returns how many of the sent spans the last warning rejected, and forgets the warning. */
  take(sent: number): number {
    const rejected = Math.min(this.#rejected, sent)
    this.#rejected = 0
    return rejected
  }
}

/** OTLP writes a 64-bit number in JSON as a string. A value that is not a positive whole number counts as 0. */
function rejectedIn(answer: string): number {
  const { rejectedSpans } = JSON.parse(answer) as { readonly rejectedSpans?: unknown }
  const rejected = Number(rejectedSpans ?? 0)
  return Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0
}
