import type pg from 'pg'
import { oneAtATime } from '../../one-at-a-time.ts'
import type { Office } from '../open-store.ts'
import { connectAlone } from './connections.ts'
import { electionCall } from './write-locks.ts'

/** Asking costs a connection, and a process that ended is replaced soon enough. */
const askEveryMs = 2000

/** A process that has not been heard of for so long hangs: it is stopped, or its machine is. */
const silentAfterMs = 60_000
/** Late ones do no harm: of as many as go into the time one has to come through. */
const signsOfLife = 6

/**
 * The offices that this process holds, each held by one process at a time. A session has them all, and lasts as long as
 * it has one: when it ends, however it ends, other processes can have them. The database ends it when the process gives
 * no sign of life; a process that wakes up from that finds its offices lost, and asks again.
 */
export class Elections {
  readonly #url: string
  readonly #silentAfterMs: number
  readonly #held = new Set<Office>()
  readonly #askAgainAt = new Map<Office, number>()
  readonly #alone = oneAtATime()
  #session: pg.Client | null = null
  #closed = false

  constructor(url: string, endedWhenSilentForMs = silentAfterMs) {
    this.#url = url
    this.#silentAfterMs = endedWhenSilentForMs
  }

  async has(office: Office): Promise<boolean> {
    if (this.#isToBeAsked(office)) await this.#alone(() => this.#ask(office))
    return this.#held.has(office)
  }

  /** Others can have them, and so can this process when it asks again. */
  release(): Promise<void> {
    return this.#alone(async () => {
      const session = this.#session
      this.#session = null
      this.#held.clear()
      await session?.end().catch(() => {})
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.release()
  }

  #isToBeAsked(office: Office): boolean {
    return !this.#closed && !this.#held.has(office) && Date.now() >= (this.#askAgainAt.get(office) ?? 0)
  }

  async #ask(office: Office): Promise<void> {
    // Whoever waited for the same question has its answer.
    if (!this.#isToBeAsked(office)) return
    try {
      this.#session ??= await this.#connect()
      const session = this.#session
      const { taken } = (await session.query(electionCall(office))).rows[0] as { taken: boolean }
      if (taken) this.#held.add(office)
      else if (this.#held.size === 0) {
        this.#session = null
        await session.end()
      }
    } finally {
      this.#askAgainAt.set(office, Date.now() + askEveryMs)
    }
  }

  async #connect(): Promise<pg.Client> {
    const session = await connectAlone(this.#url)
    await session.query(`set idle_session_timeout = ${this.#silentAfterMs}`)
    // One that fails is followed by the end of the session.
    const lives = () => void session.query('select').catch(() => {})
    const signs = setInterval(lives, this.#silentAfterMs / signsOfLife).unref()
    session.on('end', () => {
      clearInterval(signs)
      if (this.#session !== session) return
      this.#session = null
      this.#held.clear()
    })
    return session
  }
}
