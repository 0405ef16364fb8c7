import type { Incidents } from '../platform/incidents.ts'
import type { WriteNotifications } from '../platform/write-notifications.ts'
import type { Store } from './sql/sql-store.ts'
import type { Announcement } from './sql/store-calls.ts'

/** The store that the settings name cannot be used as it is. The message says how to fix it. */
export class UnusableStoreError extends Error {}

/** The store was written by a newer version and must not be changed. */
export class NewerStoreError extends UnusableStoreError {
  override name = 'NewerStoreError'
  /** The schema of the store. */
  readonly found: number
  /** The newest schema that this version knows. */
  readonly known: number

  constructor(found: number, known: number) {
    super(
      `the data was written by a newer version of Tidemark (schema ${found}, this version knows ${known}): ` +
        'start that version, or restore a backup made before the upgrade',
    )
    this.found = found
    this.known = known
  }
}

/**
 * An election among the processes that share a store. The leader works for all of them: it makes vectors, feeds the
 * index that all processes of its version search, or builds the next one. Versions without an index of their own call
 * the election `feeding`.
 */
export type Election = 'vectors' | 'feeding' | `${'feeding' | 'building'}/${string}`

/** The election for the index of a version; null stands for the time before versions had their own. */
export const feedingElection = (version: string | null): Election =>
  version === null ? 'feeding' : `feeding/${version}`
export const buildingElection = (version: string): Election => `building/${version}`

/** An open store of any kind. */
export interface OpenStore {
  readonly store: Store
  readonly migrated: readonly string[]
  /**
   * Whether the store can be read and written, as far as this process knows without a query. `troubles` are messages
   * for operators.
   */
  condition(): { readonly ok: boolean; readonly troubles: readonly string[] }
  /** True after a write was refused because a disk is full, until a similar one succeeds. */
  isDiskFull(): boolean
  /**
   * Removes deleted data from the files of the store, as far as the store can. In a database, deleted rows and index
   * entries become free to be overwritten. Reads and writes continue, but may have to wait.
   */
  scrub(): Promise<void>
  /** The number of calls that wait or run, for the metrics. */
  load(): { readonly writer: number; readonly readers: number }
  /**
   * Whether this process is the leader of an election. An election has at most one leader at a time. Call it
   * repeatedly: when a leader is gone, the next process that calls it is elected.
   */
  elected(election: Election): Promise<boolean>
  /** Whether any process leads the election. */
  hasLeader(election: Election): Promise<boolean>
  /** The time of the store's clock, which all processes that share the store use. */
  now(): Promise<number>
  /**
   * Calls the listener when another process may have written. Notifications can be lost, so listeners must also poll.
   */
  onForeignWrite(listener: (about: Announcement) => void, incidents: Incidents): void
  /** Notifies of every write by any process; null if some writes are only found by polling. */
  readonly notifications: WriteNotifications | null
  close(): Promise<void>
}
