import type pg from 'pg'
import { type Told, told, type Write } from '../sql/store-calls.ts'
import { connectAlone } from './connections.ts'

const channel = 'tidemark_writes'

const connectAgainMs = 1000

/** Tells other processes of what this one writes, within the transaction that writes it, and hears of theirs. */
export class ForeignWrites {
  #url: string
  #processId: string
  #client: pg.Client | null = null
  #listeners: ((about: Told) => void)[] = []
  #closed = false
  #again: NodeJS.Timeout | undefined

  constructor(url: string, processId: string) {
    this.#url = url
    this.#processId = processId
  }

  /** The statement that tells of a write; null where nobody waits for it. */
  notice({ tells }: Write): string | null {
    return tells === undefined ? null : `notify ${channel}, '${this.#processId} ${tells}'`
  }

  listen(listener: (about: Told) => void): void {
    this.#listeners.push(listener)
    if (this.#listeners.length === 1) void this.#connect()
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#again)
    await this.#client?.end().catch(() => {})
  }

  async #connect(): Promise<void> {
    try {
      const client = await connectAlone(this.#url)
      if (this.#closed) return void (await client.end())
      this.#client = client
      client.on('notification', ({ payload = '' }) => {
        const [from, word] = payload.split(' ')
        if (from === this.#processId) return
        // A process of another version may tell what this one does not know.
        const about = told.find((known) => known === word)
        if (about !== undefined) this.#tell(about)
      })
      client.on('end', () => this.#connectLater())
      await client.query(`listen ${channel}`)
      // What was written while nobody listened is looked for once.
      for (const about of told) this.#tell(about)
    } catch {
      this.#connectLater()
    }
  }

  #tell(about: Told): void {
    for (const listener of this.#listeners) listener(about)
  }

  #connectLater(): void {
    if (this.#closed) return
    clearTimeout(this.#again)
    this.#again = setTimeout(() => void this.#connect(), connectAgainMs)
    this.#again.unref()
  }
}
