import { type Incidents, silentIncidents } from '../../incidents.ts'

/** It is told, and so looks at once; this is for when the telling was missed. */
const lookEveryMs = 10_000

/**
 * While this process serves a database, one of a newer version may bring that up to date, and by a migration that this
 * one does not know and cannot work with. From then on every call is refused, and the process says that it is not ready.
 */
export class SchemaWatch {
  #isBeyond = false
  #look: () => Promise<boolean>
  #everyMs: number
  /** In a command nobody hears of a look that fails: its calls fail too. */
  #incidents: Incidents = silentIncidents
  #timer: NodeJS.Timeout | undefined

  constructor(look: () => Promise<boolean>, everyMs = lookEveryMs) {
    this.#look = look
    this.#everyMs = everyMs
  }

  /** The store has gone beyond what this version can work with. */
  get isBeyond(): boolean {
    return this.#isBeyond
  }

  start(): this {
    this.#timer = setInterval(() => this.look(), this.#everyMs).unref()
    return this
  }

  reportTo(incidents: Incidents): void {
    this.#incidents = incidents
  }

  /** What was found last stands until it has looked again. */
  look(): void {
    this.#look().then(
      (isBeyond) => {
        this.#isBeyond = isBeyond
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
