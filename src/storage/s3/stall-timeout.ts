import { Readable } from 'node:stream'

/**
 * Passes the bytes of `source` on. If the next bytes take longer than `stallMs`, or the source fails, the reader gets
 * the error that `broken` makes.
 */
export function withStallTimeout(source: Readable, stallMs: number, broken: (cause: unknown) => Error): Readable {
  async function* pieces(): AsyncGenerator<Buffer> {
    const reading = source[Symbol.asyncIterator]()
    for (;;) {
      // Only waiting for the source counts. A slow reader is no stall.
      const { value, done } = await withinTime(reading.next(), stallMs).catch((error: unknown) => {
        throw broken(error)
      })
      if (done === true) return
      yield value as Buffer
    }
  }
  // Closes the source even if nothing was read, in which case the generator has never run.
  return Readable.from(pieces(), { objectMode: false }).once('close', () => source.destroy())
}

function withinTime<T>(promise: Promise<T>, limitMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no more bytes came within ${limitMs} ms`)), limitMs)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
