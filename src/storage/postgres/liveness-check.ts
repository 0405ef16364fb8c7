import pg from 'pg'
import { clientSettings } from './connections.ts'

/**
 * The interval of the check, and its time limit. Together they are less than the 2 s after which a caller must know
 * that the database is unreachable. A command waits longer, because its user would have to repeat it.
 */
const checkEveryMs = 300
const answerWithinMs = { many: 1500, one: 15_000 } as const
/**
 * If a check exceeds its limit by more than this, the process itself was held up, so the result does not show that the
 * database is silent.
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
 * Distinguishes a silent database from a slow call. On a connection that has gone silent, a query would wait a quarter
 * of an hour for the network to give up. So a call that waits long checks whether the database accepts a new
 * connection. A reply on any other connection also shows that it is alive, because on a busy host a new connection can
 * take seconds.
 */
export class LivenessCheck {
  readonly #url: string
  /** When the database last sent anything, in milliseconds of `performance.now()`. */
  readonly #lastReplyAt: () => number
  readonly #answerWithinMs: number
  #check: Promise<boolean> | null = null

  constructor(url: string, lastReplyAt: () => number, callers: 'many' | 'one') {
    this.#url = url
    this.#answerWithinMs = answerWithinMs[callers]
    this.#lastReplyAt = lastReplyAt
  }

  /**
   * Rejects with `DatabaseSilent` if the database goes silent before the work is done, and calls `abandon` to end it.
   */
  guard<T>(work: Promise<T>, abandon: () => void): Promise<T> {
    return new Promise((resolve, reject) => {
      const checking = setInterval(async () => {
        if (await this.#isAlive()) return
        clearInterval(checking)
        reject(new DatabaseSilent())
        abandon()
      }, checkEveryMs)
      work.then(resolve, reject).finally(() => clearInterval(checking))
    })
  }

  #isAlive(): Promise<boolean> {
    const since = performance.now() - checkEveryMs
    const hasReplied = () => this.#lastReplyAt() > since
    if (hasReplied()) return Promise.resolve(true)
    this.#check ??= isAnswered(this.#url, this.#answerWithinMs).finally(() => {
      this.#check = null
    })
    return this.#check.then((isAnswered) => isAnswered || hasReplied())
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
    // A refusal counts as an answer, because the calls get the same error themselves.
    const isTimeout = error instanceof Error && error.message === 'timeout expired'
    return !isTimeout || Date.now() - since > withinMs + heldUpMs
  } finally {
    client.end().catch(() => {})
  }
}
