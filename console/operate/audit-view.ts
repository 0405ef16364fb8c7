import { type ComponentChild, Fragment, h } from 'preact'
import { Head } from './head.ts'
import { ListStatus } from './list-status.ts'
import { MoreButton } from './more-button.ts'
import { usePages } from './read.ts'
import { Table } from './table.ts'
import { moment } from './words.ts'

interface Line {
  readonly audit_id: string
  readonly at: string
  readonly actor: string
  readonly action: string
  readonly target: string
  readonly detail: Readonly<Record<string, unknown>>
}

/** Lists who changed what, and when. */
export function AuditView(): ComponentChild {
  const { items, fault, more } = usePages<Line>('/admin/v1/audit', 'audit')
  return h(
    Fragment,
    null,
    h(Head, { title: 'Audit', path: '/admin/v1/audit' }),
    h(ListStatus, { fault, isKnown: items !== null, isEmpty: items?.length === 0 }, 'No changes yet.'),
    items === null || items.length === 0
      ? null
      : h(Table<Line>, {
          label: 'Changes, newest first',
          keyOf: ({ audit_id: id }) => id,
          rows: items,
          columns: [
            { title: 'When', cell: ({ at }) => moment(at) },
            { title: 'Who', cell: ({ actor }) => h('span', { dir: 'auto' }, actor) },
            { title: 'What', cell: ({ action }) => h('code', null, action) },
            { title: 'Target', cell: ({ target }) => h('span', { dir: 'auto' }, target) },
            {
              title: 'Detail',
              cell: ({ detail }) =>
                h(
                  'details',
                  null,
                  h('summary', null, 'Show'),
                  h('pre', { class: 'json' }, JSON.stringify(detail, null, 2)),
                ),
            },
          ],
        }),
    h(MoreButton, { more }),
  )
}
