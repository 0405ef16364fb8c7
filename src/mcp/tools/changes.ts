import { Type } from 'typebox'
import { choice } from '../../platform/validation.ts'
import { fitting } from '../token-budget.ts'
import { codes, cursor, listLength, tool } from '../tool.ts'

interface Event {
  readonly event_type: string
  readonly document_id: string
  readonly version_id?: string
  readonly dataset_id: string
  readonly source_platform: string
  readonly changed_fields: readonly string[]
  readonly occurred_at: string
}

const eventTypes = [
  'document.created',
  'document.version.created',
  'document.metrics.updated',
  'document.updated',
  'document.erased',
] as const
const eventsDefault = 25

/**
 * More tokens than most events take. It determines the page size, because the cursor would skip events that were cut
 * off.
 */
const tokensOfEvent = 150

/** Tokens for the cursor. */
const tokensOfRest = 100

export const changes = tool(
  {
    name: 'changes',
    title: 'Read what has changed',
    description:
      'What has happened to documents since a cursor, in order and complete. To follow new events: call once with `start` = `latest` and keep `next_cursor`; later call with `cursor` set to it, until `events` is empty. ' +
      'Events carry only IDs; read what you need with `read_document`. A cursor needs the same conditions and is valid for 30 days.',
    quotes: true,
    fields: {
      cursor: cursor('`next_cursor` of the previous response.'),
      start: Type.Optional(
        choice(['earliest', 'latest'], {
          description: 'Without a cursor: start at the earliest event that is kept, or from now on.',
        }),
      ),
      event_type: Type.Optional(
        Type.Array(choice(eventTypes), {
          minItems: 1,
          maxItems: eventTypes.length,
          description: 'Only these types. Default: the first three.',
        }),
      ),
      dataset_id: codes('Only these datasets.'),
      source_platform: codes('Only these platforms.'),
      limit: Type.Optional(listLength(100, eventsDefault)),
    },
  },
  async ({ limit = eventsDefault, ...filters }, api, tokens) => {
    const page = (length: number) =>
      api.get<{ readonly items: readonly Event[]; readonly next_cursor: string }>('/v1/changes', {
        ...filters,
        limit: length,
      })
    let { items, next_cursor } = await page(Math.min(limit, Math.floor(tokens / tokensOfEvent)))
    const { shown } = fitting(items.map(eventAnswer), () => '', tokens - tokensOfRest)
    // Long names can make events larger than estimated.
    if (shown.length < items.length) ({ items, next_cursor } = await page(Math.max(1, shown.length)))
    return { events: items.map(eventAnswer), next_cursor, is_end_for_now: items.length === 0 ? true : undefined }
  },
)

const eventAnswer = (event: Event) => ({
  event_type: event.event_type,
  document_id: event.document_id,
  version_id: event.version_id,
  dataset_id: event.dataset_id,
  changed_fields: event.changed_fields,
  occurred_at: event.occurred_at,
  quoted: { source_platform: event.source_platform },
})
