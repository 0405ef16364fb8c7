import { type ComponentChild, h } from 'preact'
import { DocumentName, type Named } from '../shared/document-name.ts'
import { type EventType, eventTypes } from './changes-request.ts'
import type { ChangeEvent } from './follow-changes.ts'

/** The height of a row in rem. Two lines of text fit. */
export const rowRem = (isNarrow: boolean): number => (isNarrow ? 4.4 : 3.6)

export interface ChangeRowProps {
  readonly event: ChangeEvent
  /** Null if the document no longer exists; undefined while it is unknown. */
  readonly name: Named | null | undefined
}

/** Shows one event: the change, the document, and its dataset and platform below. */
export function ChangeRow({ event, name }: ChangeRowProps): ComponentChild {
  const { event_type: type, document_id: id, changed_fields: fields, ingested_at: time } = event
  const kind = Object.hasOwn(eventTypes, type) ? eventTypes[type as EventType] : type
  return h(
    'a',
    { class: 'change', href: `/documents/${id}`, title: `${type}, no. ${event.sequence}` },
    h('time', { dateTime: time, title: time }, new Date(time).toLocaleTimeString()),
    h('span', { class: 'chip kind', 'data-kind': type }, kind),
    h('span', { class: 'change-title', dir: 'auto' }, name ? h(DocumentName, name) : id),
    h(
      'span',
      { class: 'change-facts' },
      [event.dataset_id, event.source_platform].map((fact, i) => h('bdi', { key: i }, fact)),
      h('bdi', { class: 'fields' }, fields.join(', ')),
    ),
  )
}
