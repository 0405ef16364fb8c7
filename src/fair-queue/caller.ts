/**
 * Who waits for an answer. Callers take turns for work that has to wait; work that nobody waits for any more is not
 * done.
 */
export interface Caller {
  readonly id: string
  /** Fires when nobody waits any more. Its reason is the error to end with. */
  readonly signal: AbortSignal
}
