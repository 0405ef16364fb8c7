import type { AuditMark } from './operator-store.ts'

/** The port: the latest time that was trusted. It is stored, so that a jump of the clock is detected. */
export interface ClockStore {
  /** Null if none was stored. */
  trustedUntil(): Promise<number | null>
  /** The newest time of any record in the store; null if it has none. */
  newestTime(): Promise<number | null>
  trust(nowMs: number): Promise<void>
  /** Records that an operator has confirmed this time, which may be earlier. */
  confirm(mark: AuditMark): Promise<void>
}
