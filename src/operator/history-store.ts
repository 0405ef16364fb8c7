/**
 * The port: the history that the store is in. A store that is put back to an earlier time, or that lost its last
 * writes, would assign positions a second time. A process that notices this begins another history, with positions
 * above all of the lost one.
 */
export interface HistoryStore {
  /** The newest entries of the store now, for a later comparison. */
  mark(): Promise<HistoryMark>
  /**
   * Why a mark belongs to a time that the store has lost; null if the store still has it, or has already noticed the
   * loss.
   */
  lacks(mark: HistoryMark): Promise<string | null>
  /** Begins another history if the store lacks entries that the mark or a search index has. Otherwise returns null. */
  goOn(lost: LostTime, nowMs: number): Promise<WentBack | null>
  /** The last loss that was noticed. */
  lastLoss(): Promise<WentBack | null>
}

/** Stored apart from the store, and may be older. */
export interface HistoryMark {
  /** The oldest entry of the audit log, which is unique to the instance; null if there is none. */
  readonly instance: string | null
  /** Null before the first loss. */
  readonly historyId: string | null
  /** Its number, and a hash of its id. */
  readonly lastEvent: { readonly sequence: number; readonly mark: string } | null
  /** The newest entry of the audit log. */
  readonly lastAudit: string | null
}

export type LostTime = HistoryMark | { readonly indexedThrough: number }

export interface WentBack {
  readonly historyId: string
  readonly noticedAt: number
  /** The reason as a sentence. */
  readonly why: string
}
