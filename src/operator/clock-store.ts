import type { AuditMark } from './operator-store.ts'

/** The port: the latest time that was trusted, kept in the store so that a jump of the clock is noticed. */
export interface ClockStore {
  /** Null if none was stored. */
  believedUntil(): Promise<number | null>
  /** The newest time in the store; null if it has none. */
  newestTime(): Promise<number | null>
  believe(nowMs: number): Promise<void>
  /** An operator has confirmed this time, which may be earlier. */
  confirm(mark: AuditMark): Promise<void>
}
