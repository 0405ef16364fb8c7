import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../platform/log.ts'

/**
 * Longer than a healthy part needs, but short enough that a part that hangs is abandoned before a supervisor kills the
 * process.
 */
const closesWithinMs = 10_000

/**
 * The open parts of an instance. Parts close in the reverse order of their opening, each within its time limit, whether
 * or not earlier ones failed. A part that fails or hangs is logged by its name. A start that fails closes the parts
 * that it has opened:
 *
 *   await using parts = new OpenParts(logger)
 *   const store = await openStore()
 *   parts.opened('store', () => store.close())
 *   …
 *   return { close: parts.handOver() }
 */
export class OpenParts implements AsyncDisposable {
  #stack = new AsyncDisposableStack()
  #logger: Pick<Log, 'error'>
  #unclosed: string[] = []

  constructor(logger: Pick<Log, 'error'>) {
    this.#logger = logger
  }

  opened(name: string, close: () => unknown, withinMs: number = closesWithinMs): void {
    this.#stack.defer(async () => {
      try {
        await within(withinMs, close)
      } catch (error) {
        this.#unclosed.push(name)
        this.#logger.error({ err: error, part: name }, 'a part failed to close; the others are closed')
      }
    })
  }

  /**
   * From here on the returned function closes the parts, and leaving the scope does not. If a part fails, the function
   * rejects after all parts have been closed.
   */
  handOver(): () => Promise<void> {
    const stack = this.#stack.move()
    return async () => {
      await stack.disposeAsync()
      if (this.#unclosed.length > 0) {
        throw new Error(`these parts failed to close: ${this.#unclosed.join(', ')}; the log says why`)
      }
    }
  }

  /** Never rejects, so that the error that ended the start is reported. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync()
  }
}

async function within(limitMs: number, close: () => unknown): Promise<void> {
  const closed = new AbortController()
  const late = sleep(limitMs, undefined, { signal: closed.signal }).then(
    () => {
      throw new Error(`it did not close within ${limitMs} ms`)
    },
    () => {},
  )
  try {
    await Promise.race([close(), late])
  } finally {
    closed.abort()
  }
}
