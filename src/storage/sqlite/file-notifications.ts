import { statSync } from 'node:fs'
import type { WriteNotifications } from '../../platform/write-notifications.ts'

/** The longest delay until a write is noticed, also one of a command beside a server. */
const lookEveryMs = 1000

/** Every write changes the write-ahead log. Checking its time and size costs a hundredth of a query. */
export class FileNotifications implements WriteNotifications {
  readonly #log: string
  readonly #everyMs: number
  readonly #listeners = new Set<() => void>()
  #timer: NodeJS.Timeout | undefined
  #seen = ''
  #hasChanged = false

  constructor(storePath: string, everyMs = lookEveryMs) {
    this.#log = `${storePath}-wal`
    this.#everyMs = everyMs
  }

  follow(listener: () => void): { end(): void } {
    this.#listeners.add(listener)
    if (this.#timer === undefined) {
      this.#seen = this.#stamp()
      this.#timer = setInterval(() => this.#look(), this.#everyMs).unref()
    }
    return { end: () => void this.#listeners.delete(listener) }
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #look(): void {
    const stamp = this.#stamp()
    const hadChanged = this.#hasChanged
    this.#hasChanged = stamp !== this.#seen
    this.#seen = stamp
    // Also notifies once after a change, because file times are coarse and the next write may have had the same time.
    if (!this.#hasChanged && !hadChanged) return
    for (const listener of this.#listeners) listener()
  }

  #stamp(): string {
    const found = statSync(this.#log, { bigint: true, throwIfNoEntry: false })
    return found === undefined ? '' : `${found.mtimeNs} ${found.size} ${found.ino}`
  }
}
