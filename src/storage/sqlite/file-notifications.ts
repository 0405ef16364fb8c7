import { statSync } from 'node:fs'
import type { WriteNotifications } from '../../platform/write-notifications.ts'

/** The longest time until a write is noticed, for example that of a command beside a server. */
const pollEveryMs = 1000

/**
 * Polls the file of the write-ahead log, which every write changes. Checking its time and size is much cheaper than a
 * query.
 */
export class FileNotifications implements WriteNotifications {
  readonly #log: string
  readonly #everyMs: number
  readonly #listeners = new Set<() => void>()
  #timer: NodeJS.Timeout | undefined
  #seen = ''
  #hasChanged = false

  constructor(storePath: string, everyMs = pollEveryMs) {
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
    // Notifies once more after a change, because file times are coarse, and another write may have had the same time.
    if (!this.#hasChanged && !hadChanged) return
    for (const listener of this.#listeners) listener()
  }

  #stamp(): string {
    const found = statSync(this.#log, { bigint: true, throwIfNoEntry: false })
    return found === undefined ? '' : `${found.mtimeNs} ${found.size} ${found.ino}`
  }
}
