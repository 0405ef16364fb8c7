import { setTimeout as delay } from 'node:timers/promises'
import { type FeedEvent, type FeedPage, feedAnswer } from './content.ts'
import { isStill } from './feed-checker-verify.ts'
import { chance, restMs } from './feed-checker-writer.ts'
import type { TestServer } from './harness.ts'

/**
 * One consumer. It pages at random sizes, saves its cursor now and then, and now and then "crashes": it forgets what
 * came after the saved cursor and reads on from there. What it reads again must be what it had read.
 */
export class Reader {
  readonly name: string
  events: FeedEvent[] = []
  replayed = 0
  readonly wrongReplays: string[] = []
  #server: () => TestServer
  #key: string
  #filter: Readonly<Record<string, string>>
  #random: (below: number) => number
  #cursor: string | null = null
  #saved: { cursor: string | null; count: number } = { cursor: null, count: 0 }
  /** What was forgotten in the last crash, still to be met again. */
  #expected: FeedEvent[] = []

  constructor(
    server: () => TestServer,
    key: string,
    options: { name: string; filter: Readonly<Record<string, string>>; seed: number },
  ) {
    this.name = options.name
    this.#server = server
    this.#key = key
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
      const answer = await feedAnswer(this.#server(), this.#key, {
        ...this.#filter,
        limit,
        wait: waitSeconds,
        ...(this.#cursor === null ? {} : { cursor: this.#cursor }),
      })
      if (answer.status === 200) return answer.body
      if (answer.status < 500) throw new Error(`the feed answered ${answer.status}: ${answer.text}`)
    } catch (error) {
      // The server is away; anything else is a fault of the feed.
      if (!(error instanceof TypeError || (error as { code?: string }).code !== undefined)) throw error
    }
    await delay(restMs)
    return null
  }

  #take(page: FeedPage): void {
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
