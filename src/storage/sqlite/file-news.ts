import { statSync } from 'node:fs'
import type { WriteNews } from '../../write-news.ts'

/** A write is noticed this late, also that of a command which works beside a server. */
const lookEveryMs = 1000

/** Whoever writes to the store changes its write-ahead log; to see that costs a hundredth of asking the store. */
export class FileNews implements WriteNews {
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
    // Once more after a change: clocks of files are coarse, and the next write may have had the same time.
    if (!this.#hasChanged && !hadChanged) return
    for (const listener of this.#listeners) listener()
  }

  #stamp(): string {
    const found = statSync(this.#log, { bigint: true, throwIfNoEntry: false })
    return found === undefined ? '' : `${found.mtimeNs} ${found.size} ${found.ino}`
  }
}
