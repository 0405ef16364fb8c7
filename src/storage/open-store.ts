import type { Incidents } from '../incidents.ts'
import type { Store } from './sql/sql-store.ts'
import type { Told } from './sql/store-calls.ts'

/** The store that the settings name cannot be used as it is; the message says what to do. */
export class UnusableStoreError extends Error {}

/** An open store, whatever it is kept in. */
export interface OpenStore {
  readonly store: Store
  readonly migrated: readonly string[]
  /** Several processes may serve this store at once. */
  readonly shared: boolean
  /** Whether it can be read and written, as far as this process knows without asking it, in words for an operator. */
  condition(): { readonly ok: boolean; readonly troubles: readonly string[] }
  /** The last write was refused because a disk is full, a moment ago. */
  lacksRoom(): boolean
  /** Calls that wait or run, for the metrics. */
  load(): { readonly writer: number; readonly readers: number }
  /**
   * Whether it falls to this process to make vectors, which one process at a time does for all. Asked again and again:
   * when the one that did it is gone, the next that asks takes over.
   */
  makesVectors(): Promise<boolean>
  /** Calls back when another process may have written. What is missed now and then must be found by looking. */
  onForeignWrite(listener: (about: Told) => void, incidents: Incidents): void
  close(): Promise<void>
}
