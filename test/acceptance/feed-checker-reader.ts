import { setTimeout as delay } from 'node:timers/promises'
import { type FeedEvent, type FeedPage, feedAnswer } from './content.ts'
import { isStill } from './feed-checker-verify.ts'
import { chance, restMs } from './feed-checker-writer.ts'
import type { TestServer } from './harness.ts'

/**
 * One application. It reads pages of random sizes, saves its cursor now and then, and sometimes "crashes": it forgets
 * everything after the saved cursor and reads on from there. The repeated events must equal the forgotten ones.
 */
export class Reader {
  readonly name: string
  readonly key: string
  events: FeedEvent[] = []
  replayed = 0
  pages = 0
  readonly wrongReplays: string[] = []
  #server: () => TestServer
  #filter: Readonly<Record<string, string>>
  #random: (below: number) => number
  #cursor: string | null = null
  #saved: { cursor: string | null; count: number } = { cursor: null, count: 0 }
  /** The events that the last crash made it forget, and that must come again. */
  #expected: FeedEvent[] = []

  constructor(
    server: () => TestServer,
    key: string,
    options: { name: string; filter: Readonly<Record<string, string>>; seed: number },
  ) {
    this.name = options.name
    this.key = key
    this.#server = server
    this.#filter = options.filter
    this.#random = chance(options.seed)
  }

  /** Reads until the feed is at its end after `done` has become true. */
  async read(done: () => boolean): Promise<void> {
    for (;;) {
      const last = done()
      const page = await this.#page(last ? 0 : this.#random(3))
      if (page === null) continue
      this.#take(page)
      if (last && page.items.length === 0) return
      if (this.#random(8) === 0) this.#crash()
      else if (this.#random(2) === 0) this.#saved = { cursor: this.#cursor, count: this.events.length }
    }
  }

  async #page(waitSeconds: number): Promise<FeedPage | null> {
    try {
      const limit = this.#random(3) === 0 ? 1 + this.#random(10) : 1 + this.#random(200)
      const answer = await feedAnswer(this.#server(), this.key, {
        ...this.#filter,
        limit,
        wait: waitSeconds,
        ...(this.#cursor === null ? {} : { cursor: this.#cursor }),
      })
      if (answer.status === 200) return answer.body
      if (answer.status < 500) throw new Error(`the feed answered ${answer.status}: ${answer.text}`)
    } catch (error) {
      // The server is down. Any other error is a fault of the feed.
      if (!(error instanceof TypeError || (error as { code?: string }).code !== undefined)) throw error
    }
    await delay(restMs)
    return null
  }

  #take(page: FeedPage): void {
    this.pages++
    for (const event of page.items) {
      const expected = this.#expected.shift()
      if (expected !== undefined) {
        this.replayed++
        if (!isStill(expected, event)) {
          this.wrongReplays.push(`${this.name} read ${event.sequence} where it had read ${expected.sequence}`)
          this.#expected = []
        }
      }
      this.events.push(event)
    }
    this.#cursor = page.next_cursor
  }

  #crash(): void {
    this.#expected = [...this.events.slice(this.#saved.count), ...this.#expected]
    this.events = this.events.slice(0, this.#saved.count)
    this.#cursor = this.#saved.cursor
  }
}
