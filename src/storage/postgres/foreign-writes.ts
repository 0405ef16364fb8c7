import type pg from 'pg'
import type { Store } from '../sql/sql-store.ts'
import { connectAlone } from './connections.ts'

const channel = 'tidemark_writes'

/** Writes that other processes wait for, and the port that they are about. The rest is found by looking. */
const told: Readonly<Record<string, keyof Store>> = {
  'content.ingest': 'content',
  'live.deliver': 'content',
  'operator.commit': 'operator',
  'analysis.addRun': 'analysis',
  'analysis.cancelRun': 'analysis',
}

const connectAgainMs = 1000

/** Tells other processes of what this one writes, within the transaction that writes it, and hears of theirs. */
export class ForeignWrites {
  #url: string
  #processId: string
  #client: pg.Client | null = null
  #listeners: ((port: keyof Store) => void)[] = []
  #closed = false
  #again: NodeJS.Timeout | undefined

  constructor(url: string, processId: string) {
    this.#url = url
    this.#processId = processId
  }

  /** The statement that tells of a write; null where nobody waits for it. */
  notice(port: keyof Store, method: string): string | null {
    const about = told[`${port}.${method}`]
    return about === undefined ? null : `notify ${channel}, '${this.#processId} ${about}'`
  }

  listen(listener: (port: keyof Store) => void): void {
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
        const [from, port] = payload.split(' ')
        if (from === this.#processId) return
        for (const listener of this.#listeners) listener(port as keyof Store)
      })
      client.on('end', () => this.#connectLater())
      await client.query(`listen ${channel}`)
      // What was written while nobody listened is looked for once.
      for (const port of new Set(Object.values(told))) for (const listener of this.#listeners) listener(port)
    } catch {
      this.#connectLater()
    }
  }

  #connectLater(): void {
    if (this.#closed) return
    clearTimeout(this.#again)
    this.#again = setTimeout(() => void this.#connect(), connectAgainMs)
    this.#again.unref()
  }
}
