import { type ComponentChild, Fragment, h } from 'preact'
import { refusalFor } from '../app/self.ts'
import { ActButton } from './act-button.ts'
import { ErasureForm } from './erasure-form.ts'
import { Head } from './head.ts'
import { ListStatus } from './list-status.ts'
import { MoreButton } from './more-button.ts'
import { usePages } from './read.ts'
import { state } from './state.ts'
import { Table } from './table.ts'
import { useOpen } from './use-open.ts'
import { count, moment } from './words.ts'

/** Says what the signed-in token may not do here, and what an operator may do instead. */
function WhyNot(): ComponentChild {
  const reason = refusalFor('owner')
  if (reason === null) return null
  if (refusalFor('operator') !== null) return h('p', { class: 'note' }, reason)
  return h(
    'p',
    { class: 'note' },
    'Erasing many documents at once needs the role owner. As an operator you can erase one document at a time: ',
    h('a', { href: '/docs#admin.documents.erase' }, h('code', null, 'DELETE /admin/v1/documents/{document_id}')),
    '.',
  )
}

interface Erasure {
  readonly erasure_id: string
  readonly status: string
  readonly documents: number
  readonly removed: number
  readonly created_at: string
  readonly completed_at: string | null
  readonly artifact_run_ids: readonly string[]
}

const everyMs = 5_000

/** Lists erasures and their progress, but not what they erase. */
export function ErasuresView(): ComponentChild {
  const { items, fault, more, reload } = usePages<Erasure>('/admin/v1/erasures', 'erasures', {}, everyMs)
  const erasing = useOpen()
  return h(
    Fragment,
    null,
    h(
      Head,
      { title: 'Erasures', path: '/admin/v1/erasures' },
      h(
        ActButton,
        {
          needs: 'owner',
          isMain: true,
          act: erasing.open,
        },
        'Erase documents',
      ),
    ),
    h(WhyNot, null),
    h(
      ListStatus,
      { fault, isKnown: items !== null, isEmpty: items?.length === 0 },
      refusalFor('owner') === null
        ? 'No erasures yet. You can erase documents by ID, by author or by dataset.'
        : 'No erasures yet.',
    ),
    items === null || items.length === 0
      ? null
      : h(Table<Erasure>, {
          label: 'Erasures, newest first',
          keyOf: ({ erasure_id: id }) => id,
          rows: items,
          columns: [
            { title: 'Erasure', cell: ({ erasure_id: id }) => h('code', null, id) },
            { title: 'State', cell: ({ status }) => state(status) },
            { title: 'Documents', isNumber: true, cell: ({ documents }) => count(documents) },
            { title: 'Removed', isNumber: true, cell: ({ removed }) => count(removed) },
            { title: 'Started', cell: ({ created_at: at }) => moment(at) },
            { title: 'Finished', cell: ({ completed_at: at }) => (at === null ? 'not yet' : moment(at)) },
            {
              title: 'Affected runs',
              cell: ({ artifact_run_ids: runs }) => (runs.length === 0 ? 'none' : runs.join(', ')),
            },
          ],
        }),
    h(MoreButton, { more }),
    erasing.isOpen
      ? h(ErasureForm, {
          done: reload,
          close: erasing.close,
        })
      : null,
  )
}
