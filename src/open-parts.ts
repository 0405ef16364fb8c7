import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from './log.ts'

/** More than any part needs that is well, and little enough that one that hangs is given up before a supervisor kills. */
const closesWithinMs = 10_000

/**
 * What an instance has open. Parts close in the reverse order of their opening, each within its time, whatever became of
 * the ones before it; what fails or hangs is logged by its name. A start that fails closes what it has opened:
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
        this.#logger.error({ err: error, part: name }, 'a part did not close as it should; the others are closed')
      }
    })
  }

  /** From here on nothing closes by leaving the scope, but by calling what this gives. It rejects once all had their turn. */
  handOver(): () => Promise<void> {
    const stack = this.#stack.move()
    return async () => {
      await stack.disposeAsync()
      if (this.#unclosed.length > 0) {
        throw new Error(`these parts did not close as they should: ${this.#unclosed.join(', ')}; the log says why`)
      }
    }
  }

  /** Rejects with nothing: the error that ended the start is the one to be told. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync()
  }
}

async function within(limitMs: number, close: () => unknown): Promise<void> {
  const closed = new AbortController()
  const late = sleep(limitMs, undefined, { signal: closed.signal }).then(
    () => {
      throw new Error(`it was not closed within ${limitMs} ms`)
    },
    () => {},
  )
  try {
    await Promise.race([close(), late])
  } finally {
    closed.abort()
  }
}
