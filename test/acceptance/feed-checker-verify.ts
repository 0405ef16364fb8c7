import type { FeedEvent } from './content.ts'

/**
 * Compares the acknowledgements of writers with the events of readers. The two know nothing of each other. A hole is an
 * acknowledged version without an event, or an event of the whole feed that a reader lacks.
 */
export interface Acknowledged {
  readonly documentId: string
  readonly versionId: string
}

export interface Pass {
  readonly name: string
  /** Whether an event of the whole feed is for this reader. */
  readonly wants: (event: FeedEvent) => boolean
  /** The events that it saw, from first to last. */
  readonly events: readonly FeedEvent[]
}

export interface Trace {
  readonly acknowledged: readonly Acknowledged[]
  /** The whole feed, read in one go after everything else. */
  readonly feed: readonly FeedEvent[]
  readonly passes: readonly Pass[]
}

export interface Verdict {
  lost: number
  repeated: number
  outOfOrder: number
  /** Events that a reader saw and that the feed does not have, or has differently. */
  altered: number
  /** The first faults, as text. */
  readonly faults: string[]
}

const faultsMax = 20

export function verify({ acknowledged, feed, passes }: Trace): Verdict {
  const verdict: Verdict = { lost: 0, repeated: 0, outOfOrder: 0, altered: 0, faults: [] }
  const fault = (kind: 'lost' | 'repeated' | 'outOfOrder' | 'altered', words: string): void => {
    verdict[kind]++
    if (verdict.faults.length < faultsMax) verdict.faults.push(`${kind}: ${words}`)
  }

  inOrder('the feed', feed, fault)
  const byId = new Map<string, FeedEvent>()
  const versions = new Map<string, FeedEvent>()
  for (const event of feed) {
    byId.set(event.event_id, event)
    if (event.version_id === undefined) continue
    if (versions.has(event.version_id)) fault('repeated', `version ${event.version_id} is told of twice`)
    versions.set(event.version_id, event)
  }
  const erased = new Set(feed.flatMap((one) => (one.event_type === 'document.erased' ? one.document_id : [])))
  const created = new Set<string>()
  for (const event of feed) {
    if (event.event_type === 'document.created') {
      if (created.has(event.document_id)) fault('repeated', `document ${event.document_id} is created twice`)
      created.add(event.document_id)
    } else if (!created.has(event.document_id)) {
      fault('outOfOrder', `${event.event_type} of ${event.document_id} comes before its creation`)
    }
  }
  for (const { documentId, versionId } of acknowledged) {
    if (versions.get(versionId)?.document_id !== documentId) {
      fault('lost', `version ${versionId} of ${documentId} was acknowledged and no event tells of it`)
    }
  }
  for (const { name, wants, events } of passes) {
    inOrder(name, events, fault)
    const seen = new Set<string>()
    for (const event of events) {
      seen.add(event.event_id)
      const known = byId.get(event.event_id)
      const isSame = erased.has(event.document_id) ? isStill : sameEvent
      if (known === undefined || !isSame(event, known)) {
        fault('altered', `${name} saw ${event.event_id} (${event.sequence}) as the feed does not have it`)
      } else if (!wants(known)) fault('altered', `${name} saw ${event.event_id}, which its filter excludes`)
    }
    for (const event of feed) {
      if (wants(event) && !seen.has(event.event_id)) fault('lost', `${name} never saw ${event.sequence}`)
    }
  }
  return verdict
}

function inOrder(
  name: string,
  events: readonly FeedEvent[],
  fault: (kind: 'repeated' | 'outOfOrder', words: string) => void,
): void {
  const seen = new Set<string>()
  let highest = 0
  for (const { event_id, sequence } of events) {
    if (seen.has(event_id)) fault('repeated', `${name} has ${event_id} (${sequence}) twice`)
    else if (sequence <= highest) fault('outOfOrder', `${name} has ${sequence} after ${highest}`)
    seen.add(event_id)
    highest = Math.max(highest, sequence)
  }
}

/** Whether an event is unchanged or has only its ids left, as after an erasure of its document. */
export const isStill = (before: FeedEvent, now: FeedEvent): boolean =>
  sameEvent(before, now) || sameEvent(idsOf(before), now)

const idsOf = (event: FeedEvent): FeedEvent => ({
  ...event,
  changed_fields: [],
  occurred_at: event.ingested_at,
  observed_at: event.ingested_at,
})

const sameEvent = (a: FeedEvent, b: FeedEvent): boolean => JSON.stringify(a) === JSON.stringify(b)
