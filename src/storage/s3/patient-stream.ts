import { Readable } from 'node:stream'

/** The same bytes. Whoever waits for the next ones for too long, or sees them break off, gets the error that `broken` makes. */
export function patient(source: Readable, stallMs: number, broken: (cause: unknown) => Error): Readable {
  async function* pieces(): AsyncGenerator<Buffer> {
    const reading = source[Symbol.asyncIterator]()
    for (;;) {
      // A reader that takes its time is no stall of the source.
      const { value, done } = await withinTime(reading.next(), stallMs).catch((error: unknown) => {
        throw broken(error)
      })
      if (done === true) return
      yield value as Buffer
    }
  }
  // Also where nobody has read anything, and nothing of the generator was ever run.
  return Readable.from(pieces(), { objectMode: false }).once('close', () => source.destroy())
}

function withinTime<T>(promise: Promise<T>, limitMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no more bytes came within ${limitMs} ms`)), limitMs)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
