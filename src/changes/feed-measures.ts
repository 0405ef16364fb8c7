import type { Measures, Observe } from '../platform/measures.ts'
import type { ChangeSignal } from './change-signal.ts'

/** An application that has not read for this long no longer counts as a reader. */
const readsWithinMs = 5 * 60_000
/** The maximum number of applications that are counted, which limits memory. */
const readersMax = 10_000

/** Measures how many applications follow the feed, and how far they are behind it. */
export class FeedMeasures {
  readonly #behind: Observe<never>
  readonly #lastReadAt = new Map<string, number>()

  constructor(measures: Measures, signal: ChangeSignal) {
    this.#behind = measures.histogram({
      name: 'tidemark_feed_behind_events',
      help: 'The number of events that remain in the feed after each page that was read.',
      buckets: [0, 100, 1000, 10_000, 100_000, 1_000_000],
    })
    const gauge = (name: string, help: string, read: () => number): void => measures.gauge({ name, help }, read)
    gauge(
      'tidemark_feed_readers',
      'Applications that have read the feed from this process within the last 5 minutes.',
      () => {
        this.#forget()
        return this.#lastReadAt.size
      },
    )
    gauge('tidemark_feed_waiting_readers', 'Requests that wait at the end of the feed.', () => signal.waiting)
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
