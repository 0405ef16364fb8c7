/** Who waits for an answer: what has to wait is done in turn between callers, and not at all once nobody waits for it. */
export interface Caller {
  readonly id: string
  /** Fires when nobody waits any more; its reason is the error to end with. */
  readonly signal: AbortSignal
}
