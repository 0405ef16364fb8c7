import type { Store } from './sql/sql-store.ts'

/** An open store, whatever it is kept in. */
export interface OpenStore {
  readonly store: Store
  readonly migrated: readonly string[]
  /** Several processes may serve this store at once. */
  readonly shared: boolean
  /** Calls that wait or run, for the metrics. */
  load(): { readonly writer: number; readonly readers: number }
  /**
   * Takes what only one process of an instance may have at a time; null while another has it. It is lost when the
   * process ends, or cannot reach the store any more: `lost` then is called, once.
   */
  claim(what: Claimable, lost: () => void): Promise<Claim | null>
  /** Calls back when another process may have written to a port. What is missed now and then must be found by looking. */
  onForeignWrite(listener: (port: keyof Store) => void): void
  close(): Promise<void>
}

export type Claimable = 'search-index'

export interface Claim {
  release(): Promise<void>
}
