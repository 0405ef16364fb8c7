/** The port: the events of the change feed, in one sequence over the whole instance. */
export interface ChangeLog {
  /**
   * Events after a position, in order, as far as they match. Looks at no more than `scanMax` events: `position` is the
   * last one looked at, and `atEnd` says that nothing comes after it yet.
   */
  read(query: ChangeQuery): Promise<ChangePage>
  state(): Promise<FeedState>
  /** Removes up to `most` of the oldest events ingested before the time. Returns how many. */
  removeBefore(timeMs: number, most: number): Promise<number>
}

export interface ChangeQuery {
  /** null: from the earliest event that is kept. */
  readonly after: number | null
  readonly limit: number
  readonly scanMax: number
  /** An event is visible when one pair allows both its dataset and its platform; null = any platform. */
  readonly allowed: readonly { readonly datasets: readonly string[]; readonly platforms: readonly string[] | null }[]
  readonly eventTypes: readonly EventType[]
  readonly ingestedFrom: number | null
  readonly ingestedTo: number | null
}

export interface ChangePage {
  /** The events as consumers get them (`eventsText`): written where the rows are, a page crosses threads as one text. */
  readonly text: string
  readonly count: number
  readonly position: number
  readonly atEnd: boolean
  /** As in the state of the feed, at the moment of the read: above `after`, events are missing in between. */
  readonly removedThrough: number
}

export interface FeedState {
  /** The newest event there is; 0 for an empty feed. */
  readonly newest: number
  /** Every event up to here is gone. */
  readonly removedThrough: number
}

/** Types that every reader gets who does not choose. */
export const plainEventTypes = ['document.created', 'document.version.created', 'document.metrics.updated'] as const

/**
 * All of them. The last two came later and go only to readers that name them: `document.updated` when a field of the
 * document changed that is neither text nor metrics, `document.erased` when the document is gone. The latter changed no
 * field and names no version.
 */
export const eventTypes = [...plainEventTypes, 'document.updated', 'document.erased'] as const
export type EventType = (typeof eventTypes)[number]

export const isEventType = (text: string): text is EventType => (eventTypes as readonly string[]).includes(text)

/** An event as stores keep it, under the names that consumers know. Times are in milliseconds. */
export interface ChangeEvent {
  readonly sequence: number
  readonly event_id: string
  readonly event_type: string
  readonly dataset_id: string
  readonly source_platform: string
  readonly document_id: string
  readonly version_id: string | null
  /** A list of names, as JSON. */
  readonly changed_fields: string
  readonly occurred_at: number
  readonly observed_at: number
  readonly ingested_at: number
}
