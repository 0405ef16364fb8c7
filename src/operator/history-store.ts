/**
 * The port: the history that the store is in. A store that is rolled back to an earlier state, or that lost its last
 * writes, would assign positions a second time. A process that notices this begins another history, with positions
 * above all of the lost one.
 */
export interface HistoryStore {
  /** The newest entries of the store, for a later comparison. */
  mark(): Promise<HistoryMark>
  /**
   * Why a mark belongs to a time that the store has lost; null if the store still has it, or has already noticed the
   * loss.
   */
  lacks(mark: HistoryMark): Promise<string | null>
  /**
   * Starts a new history if the store does not have entries that the mark or a search index has. Otherwise returns
   * null.
   */
  startNewHistory(lost: LostTime, nowMs: number): Promise<HistoryLoss | null>
  /** The last loss that was noticed. */
  lastLoss(): Promise<HistoryLoss | null>
}

/** The newest entries of the store. The mark is kept apart from the store, and may be older. */
export interface HistoryMark {
  /** The oldest entry of the audit log, which is unique to the instance; null if there is none. */
  readonly instance: string | null
  /** Null before the first loss. */
  readonly historyId: string | null
  /** The number of the event, and a hash of its id. */
  readonly lastEvent: { readonly sequence: number; readonly mark: string } | null
  /** The newest entry of the audit log. */
  readonly lastAudit: string | null
}

export type LostTime = HistoryMark | { readonly indexedThrough: number }

export interface HistoryLoss {
  readonly historyId: string
  readonly noticedAt: number
  /** The reason as a sentence. */
  readonly why: string
}
