import type { Measures, Observe } from '../measures.ts'
import type { ChangeSignal } from './change-signal.ts'

/** Who has not read for so long is no reader any more. */
const readsWithinMs = 5 * 60_000
/** More are not told apart. */
const readersMax = 10_000

/** How many follow the feed, and how far behind it they are. */
export class FeedMeasures {
  readonly #behind: Observe<never>
  readonly #lastReadAt = new Map<string, number>()

  constructor(measures: Measures, signal: ChangeSignal) {
    this.#behind = measures.histogram({
      name: 'tidemark_feed_behind_events',
      help: 'How many events of the feed were left behind each page that was read of it.',
      buckets: [0, 100, 1000, 10_000, 100_000, 1_000_000],
    })
    const gauge = (name: string, help: string, read: () => number): void => measures.gauge({ name, help }, read)
    gauge('tidemark_feed_readers', 'Applications that read the feed here within the last 5 minutes.', () => {
      this.#forget()
      return this.#lastReadAt.size
    })
    gauge('tidemark_feed_waiting_readers', 'Reads that wait at the end of the feed.', () => signal.waiting)
  }

  read(applicationId: string, eventsBehind: number): void {
    this.#behind({}, eventsBehind)
    if (this.#lastReadAt.size >= readersMax) this.#forget()
    if (this.#lastReadAt.size < readersMax) this.#lastReadAt.set(applicationId, performance.now())
  }

  #forget(): void {
    const from = performance.now() - readsWithinMs
    for (const [applicationId, at] of this.#lastReadAt) if (at < from) this.#lastReadAt.delete(applicationId)
  }
}
