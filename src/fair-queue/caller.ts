/**
 * A client that waits for a result. Queued work is scheduled fairly between callers, and dropped when its caller has
 * gone.
 */
export interface Caller {
  readonly id: string
  /** Fires when the client has gone. Its reason is the error that ends the work. */
  readonly signal: AbortSignal
}
