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
  const dataset = again((text: string) => JSON.stringify(text))
  const platform = again((text: string) => JSON.stringify(text))
  const fields = again((names: readonly string[]) => JSON.stringify(names))
  const [occurred, observed, ingested] = [again(timeText()), again(timeText()), again(timeText())]
  // Joined from parts: a text that grows piece by piece is put together once more when it is sent.
  const parts: string[] = []
  for (const event of events) {
    parts.push(
      `{"sequence":${event.sequence},"event_id":"${event.eventId}",` +
        `"schema_version":${schemaVersion},"event_type":"${event.eventType}",` +
        `"dataset_id":${dataset(event.datasetId)},"source_platform":${platform(event.platform)},` +
        `"document_id":"${event.documentId}",${event.versionId === null ? '' : `"version_id":"${event.versionId}",`}` +
        `"changed_fields":${fields(event.changedFields)},"occurred_at":"${occurred(event.occurredAt)}",` +
        `"observed_at":"${observed(event.observedAt)}","ingested_at":"${ingested(event.ingestedAt)}"}`,
    )
  }
  return parts.join()
}

/** Neighbouring events come from one batch: most of what they say is what the one before said. */
function again<Value>(make: (value: Value) => string): (value: Value) => string {
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

const dayMs = 86_400_000
const two = Array.from({ length: 60 }, (_, i) => String(i).padStart(2, '0'))
const three = Array.from({ length: 1000 }, (_, i) => String(i).padStart(3, '0'))

/** As `formatTime`, with the day made once for all times in it. */
function timeText(): (timeMs: number) => string {
  const day = again((number: number) => formatTime(number * dayMs).slice(0, 11))
  return (timeMs) => {
    const number = Math.floor(timeMs / dayMs)
    const rest = timeMs - number * dayMs
    const seconds = Math.floor(rest / 1000)
    const minutes = Math.floor(seconds / 60)
    return `${day(number)}${two[Math.floor(minutes / 60)]}:${two[minutes % 60]}:${two[seconds % 60]}.${three[rest % 1000]}Z`
  }
}
