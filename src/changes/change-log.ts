import { hash } from 'node:crypto'
import type { Scope } from '../access/scope.ts'

/** The port of the change feed: the events of the whole instance in one sequence. */
export interface ChangeLog {
  /**
   * Returns matching events after a position, in order. Scans at most `scanMax` events. `position` is that of the last
   * scanned event, and `atEnd` says that no event follows it yet.
   */
  read(query: ChangeQuery): Promise<ChangePage>
  state(expiry?: Expiry): Promise<FeedState>
  /** Returns false if the store was restored to a time before the reader reached this position. */
  knows(reached: FeedPosition): Promise<boolean>
  /** Removes up to `most` of the oldest events ingested before the time. Returns the number removed. */
  removeBefore(timeMs: number, most: number): Promise<number>
}

export interface ChangeQuery {
  /** Null starts at the earliest event in the store that is after `earliest`. */
  readonly after: number | null
  readonly earliest?: number
  /** The last event that the reader has passed, if the reader knows it. */
  readonly passed?: PassedEvent | null
  readonly limit: number
  readonly scanMax: number
  /** The reader's scope: `selectVisibleEvents` decides which events it opens, and which fields they name. */
  readonly scope: Scope
  readonly eventTypes: readonly EventType[]
  readonly ingestedFrom: number | null
  readonly ingestedTo: number | null
}

export interface ChangePage {
  readonly events: readonly VisibleEvent[]
  readonly position: number
  readonly atEnd: boolean
  /** As in `FeedState`, at the moment of the read. If it is greater than `after`, events are missing in between. */
  readonly removedThrough: number
  /** The last event up to `position`; null if there is none. */
  readonly passed: PassedEvent | null
  /**
   * True if the store does not have the event that the reader has passed, because it was restored to an earlier time.
   */
  readonly wasRolledBack: boolean
}

/** Events from before a time no longer exist for readers, even if they are not removed yet. */
export interface Expiry {
  readonly before: number
  /** Every event up to this sequence is older than `before`. Later events may be, too. */
  readonly knownThrough: number
}

export interface FeedState {
  /** The sequence of the newest event; 0 for an empty feed. */
  readonly newest: number
  /** Every event up to this sequence has been removed. */
  readonly removedThrough: number
  /** The newest event; null if there is none. */
  readonly last: PassedEvent | null
}

/**
 * An event that a reader has passed. A position alone does not identify the history of the store, because a store that
 * was restored to an earlier time assigns the same numbers again. `mark` is a hash, because the reader may not be
 * allowed to know the event.
 */
export interface PassedEvent {
  readonly sequence: number
  readonly mark: string
}

/** The position of a reader in the feed. It can be after the last event, because some numbers have no event. */
export interface FeedPosition {
  readonly position: number
  readonly passed: PassedEvent | null
}

/** A feed position in a cursor. Cursors of earlier versions hold only the number. */
export type PackedFeedPosition = number | readonly [position: number, sequence: number, mark: string]

export const packPosition = ({ position, passed }: FeedPosition): PackedFeedPosition =>
  passed === null ? position : [position, passed.sequence, passed.mark]

export function unpackPosition(packed: PackedFeedPosition): FeedPosition {
  if (typeof packed === 'number') return { position: packed, passed: null }
  const [position, sequence, mark] = packed
  return { position, passed: { sequence, mark } }
}

const markLength = 11

export const passedEvent = ({ sequence, event_id }: Pick<ChangeEvent, 'sequence' | 'event_id'>): PassedEvent => ({
  sequence,
  mark: hash('sha256', event_id, 'base64url').slice(0, markLength),
})

/** The event types that a reader gets if it requests none. */
export const defaultEventTypes = ['document.created', 'document.version.created', 'document.metrics.updated'] as const

/**
 * All event types. The last two were added later, and only readers that request them get them. `document.updated` means
 * that a field other than text or metrics changed. `document.erased` means that the document is gone; it has no changed
 * fields and no version.
 */
export const eventTypes = [...defaultEventTypes, 'document.updated', 'document.erased'] as const
export type EventType = (typeof eventTypes)[number]

export const isEventType = (text: string): text is EventType => (eventTypes as readonly string[]).includes(text)

/** An event as an application sees it. */
export interface VisibleEvent {
  readonly sequence: number
  readonly event_id: string
  readonly schema_version: number
  readonly event_type: EventType
  readonly dataset_id: string
  readonly source_platform: string
  readonly document_id: string
  readonly version_id?: string
  readonly changed_fields: string[]
  readonly occurred_at: string
  readonly observed_at: string
  readonly ingested_at: string
}

/** An event as it is stored, under its public names. Times are in milliseconds. */
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
