import { type ComponentChild, h } from 'preact'
import { DocumentName, type Named } from '../shared/document-name.ts'
import { type EventType, eventTypes } from './changes-request.ts'
import type { ChangeEvent } from './follow-changes.ts'

/** As high as that, whatever the texts: two lines of them. */
export const rowRem = (isNarrow: boolean): number => (isNarrow ? 4.4 : 3.6)

export interface ChangeRowProps {
  readonly event: ChangeEvent
  /** Null where the document is not there any more; undefined while it is not known. */
  readonly name: Named | null | undefined
}

/** One event: what became of which document, and below it where that belongs. */
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
