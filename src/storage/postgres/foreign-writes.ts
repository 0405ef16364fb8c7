import type pg from 'pg'
import { UnavailableError } from '../../platform/errors.ts'
import type { Incidents } from '../../platform/incidents.ts'
import { announcements, type Write } from '../sql/store-calls.ts'
import { connectAlone } from './connections.ts'
import { isConnectionLost } from './troubles.ts'

const channel = 'tidemark_writes'

const reconnectAfterMs = 1000

/** The subject of a notification: what a write announces, or `schema` for an applied migration. */
const subjects = [...announcements, 'schema'] as const
type Subject = (typeof subjects)[number]

/**
 * Notifies other processes of writes (NOTIFY), within the transaction that writes, and receives their notifications
 * (LISTEN).
 */
export class ForeignWrites {
  #url: string
  #processId: string
  #client: pg.Client | null = null
  #listeners: ((about: Subject) => void)[] = []
  #closed = false
  #reconnectTimer: NodeJS.Timeout | undefined

  constructor(url: string, processId: string) {
    this.#url = url
    this.#processId = processId
  }

  /** The statement that announces a write; null if the write announces nothing. */
  notice({ announces }: Write): string | null {
    return announces === undefined ? null : this.#noticeOf(announces)
  }

  get noticeOfSchema(): string {
    return this.#noticeOf('schema')
  }

  listen(listener: (about: Subject) => void, incidents: Incidents): void {
    this.#listeners.push(listener)
    if (this.#listeners.length === 1) void this.#connect(incidents)
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#reconnectTimer)
    await this.#client?.end().catch(() => {})
  }

  async #connect(incidents: Incidents): Promise<void> {
    try {
      const client = await connectAlone(this.#url)
      if (this.#closed) return void (await client.end())
      this.#client = client
      client.on('notification', ({ payload = '' }) => {
        const [from, subject] = payload.split(' ')
        if (from === this.#processId) return
        // A process of another version may send notifications that this one does not know.
        const about = subjects.find((known) => known === subject)
        if (about !== undefined) this.#notifyListeners(about)
      })
      client.on('end', () => this.#connectLater(incidents))
      await client.query(`listen ${channel}`)
      // Every listener checks once for writes from before this process listened.
      for (const about of subjects) this.#notifyListeners(about)
      incidents.worked('foreign-writes')
    } catch (error) {
      if (this.#closed) return
      incidents.failed('foreign-writes', isConnectionLost(error) ? notificationsLost(error) : error)
      this.#connectLater(incidents)
    }
  }

  #noticeOf(subject: Subject): string {
    return `notify ${channel}, '${this.#processId} ${subject}'`
  }

  #notifyListeners(about: Subject): void {
    for (const listener of this.#listeners) listener(about)
  }

  #connectLater(incidents: Incidents): void {
    if (this.#closed) return
    clearTimeout(this.#reconnectTimer)
    this.#reconnectTimer = setTimeout(() => void this.#connect(incidents), reconnectAfterMs)
    this.#reconnectTimer.unref()
  }
}

const notificationsLost = (cause: unknown): UnavailableError =>
  new UnavailableError('notifications of other processes are lost: their writes are found by polling, with a delay', {
    cause,
  })
