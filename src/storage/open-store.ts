import type { Incidents } from '../incidents.ts'
import type { WriteNews } from '../write-news.ts'
import type { Store } from './sql/sql-store.ts'
import type { Announcement } from './sql/store-calls.ts'

/** The store that the settings name cannot be used as it is; the message says what to do. */
export class UnusableStoreError extends Error {}

/** The store was written by a newer version: it must be left exactly as it is. */
export class NewerStoreError extends UnusableStoreError {
  override name = 'NewerStoreError'
  /** The schema that was found. */
  readonly found: number
  /** The newest that this version knows. */
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

/** What one process does for all that share a store: make vectors, feed an index that all of them search. */
export type Office = 'vectors' | 'feeding'

/** An open store, whatever it is kept in. */
export interface OpenStore {
  readonly store: Store
  readonly migrated: readonly string[]
  /** Whether it can be read and written, as far as this process knows without asking it, in words for an operator. */
  condition(): { readonly ok: boolean; readonly troubles: readonly string[] }
  /** A write was refused because a disk is full, a moment ago, and none like it was done since. */
  lacksRoom(): boolean
  /**
   * What was deleted has left the files of the store, as far as that is in its hands; where a database keeps them, rows and
   * entries of indexes are free to be overwritten. Whoever reads and writes goes on, and may have to wait.
   */
  scrub(): Promise<void>
  /** Calls that wait or run, for the metrics. */
  load(): { readonly writer: number; readonly readers: number }
  /**
   * Whether an office falls to this process, which one process at a time holds for all. Asked again and again: when the
   * one that held it is gone, the next that asks takes over.
   */
  elected(office: Office): Promise<boolean>
  /** What time it is for all processes that share the store, whatever the clock of each says. */
  now(): Promise<number>
  /** Calls back when another process may have written. What is missed now and then must be found by looking. */
  onForeignWrite(listener: (about: Announcement) => void, incidents: Incidents): void
  /** Where every write is told, by whichever process; null where some must be found by looking. */
  readonly news: WriteNews | null
  close(): Promise<void>
}
