import { formatTime } from '../time.ts'
import type { ChangeEvent } from './change-log.ts'

/** The shape of events that this version writes. */
const schemaVersion = 1

/**
 * Events as consumers get them: JSON texts, joined by commas. Made by hand, because a reader that catches up takes page
 * after page and the general serialiser takes three times as long. Ids, types and times have no characters that JSON
 * escapes.
 */
export function eventsText(events: readonly ChangeEvent[]): string {
  const dataset = rememberingLast((text: string) => JSON.stringify(text))
  const platform = rememberingLast((text: string) => JSON.stringify(text))
  const [occurred, observed, ingested] = [
    rememberingLast(formatTime),
    rememberingLast(formatTime),
    rememberingLast(formatTime),
  ]
  // Joined from parts: a text that grows piece by piece is put together once more when it is sent.
  const parts: string[] = []
  for (const event of events) {
    parts.push(
      `{"sequence":${event.sequence},"event_id":"${event.event_id}",` +
        `"schema_version":${schemaVersion},"event_type":"${event.event_type}",` +
        `"dataset_id":${dataset(event.dataset_id)},"source_platform":${platform(event.source_platform)},` +
        `"document_id":"${event.document_id}",${event.version_id === null ? '' : `"version_id":"${event.version_id}",`}` +
        `"changed_fields":${event.changed_fields},"occurred_at":"${occurred(event.occurred_at)}",` +
        `"observed_at":"${observed(event.observed_at)}","ingested_at":"${ingested(event.ingested_at)}"}`,
    )
  }
  return parts.join()
}

/** Neighbouring events come from one batch: most of what they say is what the one before said. */
function rememberingLast<Value>(make: (value: Value) => string): (value: Value) => string {
  let last: Value | undefined
  let text = ''
  return (value) => {
    if (value !== last) {
      text = make(value)
      last = value
    }
    return text
  }
}
