import pg from 'pg'
import { clientSettings } from './connections.ts'

/**
 * Together less than the 2 s within which a caller is told that the database is away; a busy database gets most of it. A
 * command, which would have to be given again, is patient.
 */
const lookAfterMs = 300
const answerWithinMs = { many: 1500, one: 15_000 } as const
/** A look that took so much longer than it may tells of this process, which was held up, and not of the database. */
const heldUpMs = 250

/** A database that says nothing, not even that it refuses: its host is gone, or a wall on the way swallows what is sent. */
export class DatabaseSilent extends Error {
  constructor() {
    super('the database says nothing: not to a new connection, and on none that is open')
    this.name = 'DatabaseSilent'
  }
}

/**
 * Tells a database that is silent from a call that takes its time. On a connection that has gone silent a query would wait
 * for the network to give up, for a quarter of an hour; so whoever waits long makes this one look whether a new
 * connection is answered. One that says anything on any other connection is there: on a busy host a new one may take
 * seconds, and to ask for it adds to that.
 */
export class Pulse {
  readonly #url: string
  /** When anything came from the database last, by the clock of `performance`. */
  readonly #heardAt: () => number
  readonly #answerWithinMs: number
  #look: Promise<boolean> | null = null

  constructor(url: string, heardAt: () => number, callers: 'many' | 'one') {
    this.#url = url
    this.#answerWithinMs = answerWithinMs[callers]
    this.#heardAt = heardAt
  }

  /** Fails with `DatabaseSilent` if the database falls silent before the work is done; `abandon` is then to end it. */
  guard<T>(work: Promise<T>, abandon: () => void): Promise<T> {
    return new Promise((resolve, reject) => {
      const looking = setInterval(async () => {
        if (await this.#beats()) return
        clearInterval(looking)
        reject(new DatabaseSilent())
        abandon()
      }, lookAfterMs)
      work.then(resolve, reject).finally(() => clearInterval(looking))
    })
  }

  #beats(): Promise<boolean> {
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
    // It was refused, by the server or by its host: the calls will hear the same by themselves.
    const isTimeout = error instanceof Error && error.message === 'timeout expired'
    return !isTimeout || Date.now() - since > withinMs + heldUpMs
  } finally {
    client.end().catch(() => {})
  }
}
