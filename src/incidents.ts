import { isUnavailability } from './errors.ts'
import type { Log } from './log.ts'
import type { Count, Measures } from './measures.ts'

/**
 * Where failures go that no answer tells of: of work that nobody waits for. Each is counted; the log has each cause
 * once, until the job has worked again.
 */
export interface Incidents {
  /** `about` tells one piece of work from another where a job has several. */
  failed(job: string, error: unknown, about?: Readonly<Record<string, unknown>>): void
  worked(job: string): void
}

export class LoggedIncidents implements Incidents {
  readonly #logger: Log
  readonly #count: Count<'job'>
  /** What was said of the jobs that fail at the moment. */
  readonly #said = new Map<string, Set<string>>()
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
    const said = this.#said.get(job) ?? new Set()
    const cause = `${JSON.stringify(about)} ${error instanceof Error ? error.message : String(error)}`
    if (said.has(cause)) return
    // A message that is never the same twice must not fill the memory.
    if (said.size >= causesMax) said.clear()
    said.add(cause)
    this.#said.set(job, said)
    const line = { err: error, job, ...about }
    if (isUnavailability(error)) this.#logger.warn(line, 'a background job failed; it is tried again')
    else this.#logger.error(line, 'a background job failed; it is tried again')
  }

  worked(job: string): void {
    // Told of before it fails, so that the first failure is seen as a rise.
    if (!this.#known.has(job)) this.#count({ job }, 0)
    this.#known.add(job)
    if (this.#said.delete(job)) this.#logger.info({ job }, 'a background job works again')
  }
}

const causesMax = 100

/** For what runs where there is neither a log nor a reader of one. */
export const silentIncidents: Incidents = { failed: () => {}, worked: () => {} }
