import pg from 'pg'
import { clientSettings } from './connections.ts'

/**
 * Together less than the 2 s within which a caller learns that the database is away; a busy database gets most of it. A
 * command waits longer, because its user would have to repeat it.
 */
const lookAfterMs = 300
const answerWithinMs = { many: 1500, one: 15_000 } as const
/**
 * A check that took this much longer than its limit shows that this process was held up, not that the database is
 * silent.
 */
const heldUpMs = 250

/** The database does not respond at all, not even with a refusal: its host is down, or a firewall drops the packets. */
export class DatabaseSilent extends Error {
  constructor() {
    super('the database does not respond, neither on a new connection nor on any open one')
    this.name = 'DatabaseSilent'
  }
}

/**
 * Tells a silent database from a slow call. On a connection that has gone silent, a query would wait a quarter of an
 * hour for the network to give up. So a call that waits long checks whether a new connection is answered. A reply on
 * any other connection counts as alive too: on a busy host a new one may take seconds, and opening it adds load.
 */
export class LivenessCheck {
  readonly #url: string
  /** When the database last sent anything, by the clock of `performance`. */
  readonly #heardAt: () => number
  readonly #answerWithinMs: number
  #look: Promise<boolean> | null = null

  constructor(url: string, heardAt: () => number, callers: 'many' | 'one') {
    this.#url = url
    this.#answerWithinMs = answerWithinMs[callers]
    this.#heardAt = heardAt
  }

  /**
   * Rejects with `DatabaseSilent` if the database goes silent before the work is done, and calls `abandon` to end it.
   */
  guard<T>(work: Promise<T>, abandon: () => void): Promise<T> {
    return new Promise((resolve, reject) => {
      const looking = setInterval(async () => {
        if (await this.#isAlive()) return
        clearInterval(looking)
        reject(new DatabaseSilent())
        abandon()
      }, lookAfterMs)
      work.then(resolve, reject).finally(() => clearInterval(looking))
    })
  }

  #isAlive(): Promise<boolean> {
    const since = performance.now() - lookAfterMs
    const isHeard = () => this.#heardAt() > since
    if (isHeard()) return Promise.resolve(true)
    this.#look ??= isAnswered(this.#url, this.#answerWithinMs).finally(() => {
      this.#look = null
    })
    return this.#look.then((isAnswered) => isAnswered || isHeard())
  }
}

async function isAnswered(url: string, withinMs: number): Promise<boolean> {
  const client = new pg.Client({ ...clientSettings(url), connectionTimeoutMillis: withinMs })
  client.on('error', () => {})
  const since = Date.now()
  try {
    await client.connect()
    return true
  } catch (error) {
    // The server or its host refused the connection: the calls get the same error themselves.
    const isTimeout = error instanceof Error && error.message === 'timeout expired'
    return !isTimeout || Date.now() - since > withinMs + heldUpMs
  } finally {
    client.end().catch(() => {})
  }
}
