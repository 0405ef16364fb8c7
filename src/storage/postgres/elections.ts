import type pg from 'pg'
import { oneAtATime } from '../../platform/one-at-a-time.ts'
import type { Election } from '../open-store.ts'
import { connectAlone } from './connections.ts'
import { electionCall } from './write-locks.ts'

/** The time between two attempts to win an election. Each attempt takes a connection. */
const standEveryMs = 2000

/** A process that is silent for this long counts as hanging. */
const silentAfterMs = 60_000
/** Only one heartbeat of this number has to arrive in time. */
const heartbeatsPerTimeout = 6

/**
 * The elections that this process has won. An election has one leader at a time, which holds an advisory lock in one
 * session for all its elections. When the session ends for any reason, other processes can be elected. The database
 * ends the session if the process sends no heartbeat. A process that resumes after that is no longer leader, and stands
 * again.
 */
export class Elections {
  readonly #url: string
  readonly #silentAfterMs: number
  readonly #held = new Set<Election>()
  readonly #standAgainAt = new Map<Election, number>()
  readonly #alone = oneAtATime()
  #session: pg.Client | null = null
  #closed = false

  constructor(url: string, endedWhenSilentForMs = silentAfterMs) {
    this.#url = url
    this.#silentAfterMs = endedWhenSilentForMs
  }

  async has(election: Election): Promise<boolean> {
    if (this.#mayStand(election)) await this.#alone(() => this.#stand(election))
    return this.#held.has(election)
  }

  /** Gives up all elections. Other processes can win them, and so can this one when it stands again. */
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

  #mayStand(election: Election): boolean {
    return !this.#closed && !this.#held.has(election) && Date.now() >= (this.#standAgainAt.get(election) ?? 0)
  }

  async #stand(election: Election): Promise<void> {
    // Another call may have stood for the election while this one waited.
    if (!this.#mayStand(election)) return
    try {
      this.#session ??= await this.#connect()
      const session = this.#session
      const { taken } = (await session.query(electionCall(election))).rows[0] as { taken: boolean }
      if (taken) this.#held.add(election)
      else if (this.#held.size === 0) {
        this.#session = null
        await session.end()
      }
    } finally {
      this.#standAgainAt.set(election, Date.now() + standEveryMs)
    }
  }

  async #connect(): Promise<pg.Client> {
    const session = await connectAlone(this.#url)
    await session.query(`set idle_session_timeout = ${this.#silentAfterMs}`)
    // A failed heartbeat is ignored, because the session ends soon.
    const beat = () => void session.query('select').catch(() => {})
    const heartbeat = setInterval(beat, this.#silentAfterMs / heartbeatsPerTimeout).unref()
    session.on('end', () => {
      clearInterval(heartbeat)
      if (this.#session !== session) return
      this.#session = null
      this.#held.clear()
    })
    return session
  }
}
