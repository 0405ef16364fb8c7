import { type Incidents, silentIncidents } from '../../platform/incidents.ts'

/** A notification triggers a check at once. This interval is for notifications that were missed. */
const checkEveryMs = 10_000

/**
 * A process of a newer version may apply a migration that this version does not know and cannot work with. From then on
 * every call is refused, and this process is not ready.
 */
export class SchemaWatch {
  #isTooNew = false
  #check: () => Promise<boolean>
  #everyMs: number
  /** A command does not report a failed check, because its calls fail too. */
  #incidents: Incidents = silentIncidents
  #timer: NodeJS.Timeout | undefined

  constructor(check: () => Promise<boolean>, everyMs = checkEveryMs) {
    this.#check = check
    this.#everyMs = everyMs
  }

  /** Whether the schema is newer than this version can work with. */
  get isTooNew(): boolean {
    return this.#isTooNew
  }

  start(): this {
    this.#timer = setInterval(() => this.check(), this.#everyMs).unref()
    return this
  }

  reportTo(incidents: Incidents): void {
    this.#incidents = incidents
  }

  /** The last result stands until the check has ended. */
  check(): void {
    this.#check().then(
      (isTooNew) => {
        this.#isTooNew = isTooNew
        this.#incidents.worked('schema-watch')
      },
      (error: unknown) => this.#incidents.failed('schema-watch', error),
    )
  }

  close(): void {
    clearInterval(this.#timer)
    this.#incidents = silentIncidents
  }
}
