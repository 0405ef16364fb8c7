import type pg from 'pg'
import { connectAlone } from './connections.ts'
import { claimCall } from './write-locks.ts'

/** Asking costs a connection, and a process that ended is replaced soon enough. */
const askEveryMs = 2000

/** What one process at a time has. A session holds it: when that ends, however it ends, another process can have it. */
export class Claim {
  #url: string
  #held: pg.Client | null = null
  #askAgainAt = 0
  #asking: Promise<void> | null = null
  #closed = false

  constructor(url: string) {
    this.#url = url
  }

  async has(): Promise<boolean> {
    if (this.#held === null && !this.#closed && Date.now() >= this.#askAgainAt) {
      this.#asking ??= this.#ask().finally(() => {
        this.#asking = null
        this.#askAgainAt = Date.now() + askEveryMs
      })
      await this.#asking
    }
    return this.#held !== null
  }

  /** Others can have it, and so can this process when it asks again. */
  async release(): Promise<void> {
    const held = this.#held
    this.#held = null
    await held?.end().catch(() => {})
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#asking?.catch(() => {})
    await this.release()
  }

  async #ask(): Promise<void> {
    const client = await connectAlone(this.#url)
    client.on('end', () => {
      if (this.#held === client) this.#held = null
    })
    const { taken } = (await client.query(claimCall)).rows[0] as { taken: boolean }
    if (taken) this.#held = client
    else await client.end()
  }
}
