import { bitsOf, bitsThatOpen, isReadableField, openedBy } from '../access/event-fields.ts'
import { type FieldPermission, readableFields, type Scope, type ScopedDocument } from '../access/scope.ts'
import { formatTime } from '../platform/time.ts'
import type { ChangeEvent, EventType, VisibleEvent } from './change-log.ts'

/** The schema version of the events that this release writes. */
const schemaVersion = 1

/** An event as it is stored, with the values that decide who may read it. */
export interface StoredEvent extends ChangeEvent {
  /** Bits of `access/event-fields.ts`. Null for events of earlier versions, which did not store these values. */
  readonly opened_by: number | null
  readonly language: string | null
  readonly region: string | null
  readonly published_at: number | null
  readonly language_before: string | null
  readonly region_before: string | null
  readonly published_before: number | null
}

/** The current values that decide who may read a document. */
export type CurrentValues = Pick<StoredEvent, 'language' | 'region' | 'published_at'>

/**
 * The changed fields that a reader sees when a document leaves its entitlements. They are readable with any document.
 */
const leavingFields: ReadonlySet<string> = new Set(['language', 'region', 'published_at'])

/**
 * Selects the events that a reader may see, and the fields that they name. The decision uses only values stored with
 * the event, so a page that is read again is the same.
 *
 * Events written by an earlier version are the exception, until retention removes them 30 days after the upgrade. For
 * them, the current values of their document decide. If the document is gone, its language, region and time are
 * unknown, and its erasure is sent to all readers of its dataset and platform. Stores return no other events of such
 * documents.
 */
export function selectVisibleEvents(
  events: readonly StoredEvent[],
  scope: Scope,
  types: readonly EventType[],
  currentValues: ReadonlyMap<string, CurrentValues>,
): VisibleEvent[] {
  const named = namesByReader()
  return events.flatMap((event) => {
    const visible =
      event.opened_by === null
        ? visibleEarlierEvent(event, scope, named, currentValues)
        : visibleEvent(event, scope, named)
    return visible !== null && types.includes(visible.event_type) ? visible : []
  })
}

const shownAs = (event: ChangeEvent, event_type: EventType, changed_fields: string[]): VisibleEvent => ({
  sequence: event.sequence,
  event_id: event.event_id,
  schema_version: schemaVersion,
  event_type,
  dataset_id: event.dataset_id,
  source_platform: event.source_platform,
  document_id: event.document_id,
  ...(event.version_id === null ? {} : { version_id: event.version_id }),
  changed_fields,
  occurred_at: formatTime(event.occurred_at),
  observed_at: formatTime(event.observed_at),
  ingested_at: formatTime(event.ingested_at),
})

function visibleEarlierEvent(
  event: StoredEvent,
  scope: Scope,
  named: Named,
  currentValues: ReadonlyMap<string, CurrentValues>,
): VisibleEvent | null {
  const current = currentValues.get(event.document_id)
  if (current === undefined && event.event_type === 'document.erased') {
    return shownAs(event, event.event_type, JSON.parse(event.changed_fields))
  }
  return visibleEvent({ ...event, ...current, opened_by: bitsOfEarlier(event) }, scope, named)
}

function visibleEvent(event: StoredEvent, scope: Scope, named: Named): VisibleEvent | null {
  const type = event.event_type as EventType
  const { opened_by, language_before, region_before, published_before } = event
  const bits = opened_by ?? 0
  const fields = readableFields(scope, documentOf(event))
  if (fields === null) {
    if ((bits & openedBy.moved) === 0) return null
    const was = documentOf({ ...event, region: region_before, published_at: published_before })
    // For an erased document, this lists the languages of all its other texts.
    const languages = language_before === null ? [null] : language_before.split(',')
    const isLeaving = languages.some((language) => readableFields(scope, { ...was, language }) !== null)
    return isLeaving ? shownAs(event, type, named(event.changed_fields, null)) : null
  }
  const open = bits & bitsOf(fields)
  if (open === 0) return null
  if (open !== openedBy.withoutMetrics || type !== 'document.metrics.updated') {
    return shownAs(event, type, named(event.changed_fields, fields))
  }
  return shownAs(event, 'document.updated', event.changed_fields === '[]' ? [] : ['observed_at'])
}

function bitsOfEarlier({ event_type, changed_fields }: StoredEvent): number {
  if (event_type === 'document.metrics.updated') return bitsThatOpen(['metrics']) | openedBy.withoutMetrics
  if (event_type !== 'document.updated' || changed_fields === '[]') return openedBy.anyone
  return bitsThatOpen(JSON.parse(changed_fields))
}

const documentOf = (event: StoredEvent): ScopedDocument => ({
  datasetId: event.dataset_id,
  platform: event.source_platform,
  language: event.language,
  region: event.region,
  publishedAt: event.published_at,
})

/**
 * Returns the changed fields that a reader may see. `fields` is null if the document leaves the reader's entitlements.
 */
type Named = (names: string, fields: ReadonlySet<FieldPermission> | null) => string[]

/**
 * Caches the result for each list of names, because there are few lists and a reader that catches up gets many events.
 */
function namesByReader(): Named {
  const known = new Map<string, string[]>()
  return (names, fields) => {
    const key = `${fields === null ? 0 : bitsOf(fields)} ${names}`
    let readable = known.get(key)
    if (readable === undefined) {
      const isNamed = (name: string) => (fields === null ? leavingFields.has(name) : isReadableField(name, fields))
      readable = (JSON.parse(names) as string[]).filter(isNamed)
      known.set(key, readable)
    }
    return readable
  }
}
