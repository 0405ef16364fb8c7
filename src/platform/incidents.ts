import { isUnavailability } from './errors.ts'
import type { Log } from './log.ts'
import type { Count, Measures } from './measures.ts'

/**
 * Reports failures of background jobs, for which there is no response. Each failure is counted. Each cause is logged
 * once, until the job has succeeded again.
 */
export interface Incidents {
  /** `about` identifies one piece of work of the job. */
  failed(job: string, error: unknown, about?: Readonly<Record<string, unknown>>): void
  worked(job: string): void
}

export class LoggedIncidents implements Incidents {
  readonly #logger: Log
  readonly #count: Count<'job'>
  /** The causes that were logged, for each job that is failing. */
  readonly #logged = new Map<string, Set<string>>()
  readonly #known = new Set<string>()

  constructor(logger: Log, measures: Measures) {
    this.#logger = logger
    this.#count = measures.counter({
      name: 'tidemark_background_failures_total',
      help: 'Steps of background jobs that failed.',
      labels: ['job'],
    })
  }

  failed(job: string, error: unknown, about: Readonly<Record<string, unknown>> = {}): void {
    this.#count({ job })
    const logged = this.#logged.get(job) ?? new Set()
    const cause = `${JSON.stringify(about)} ${error instanceof Error ? error.message : String(error)}`
    if (logged.has(cause)) return
    // A message that differs each time must not fill the memory.
    if (logged.size >= causesMax) logged.clear()
    logged.add(cause)
    this.#logged.set(job, logged)
    const line = { err: error, job, ...about }
    if (isUnavailability(error)) this.#logger.warn(line, 'a background job failed; it will be retried')
    else this.#logger.error(line, 'a background job failed; it will be retried')
  }

  worked(job: string): void {
    // Registered before it fails, so that the first failure is seen as an increase.
    if (!this.#known.has(job)) this.#count({ job }, 0)
    this.#known.add(job)
    if (this.#logged.delete(job)) this.#logger.info({ job }, 'a background job works again')
  }
}

const causesMax = 100

/** For code that runs without a log. */
export const silentIncidents: Incidents = { failed: () => {}, worked: () => {} }
