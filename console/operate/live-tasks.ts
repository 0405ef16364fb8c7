import { type ComponentChild, h } from 'preact'
import { addressOf } from '../app/address-of.ts'
import { go, type Place } from '../app/router.ts'
import { ApplicationLink, useApplicationNames } from './application-names.ts'
import { MoreButton } from './more-button.ts'
import { usePages } from './read.ts'
import { Standing } from './standing.ts'
import { state } from './state.ts'
import { Table } from './table.ts'
import { ago, moment } from './words.ts'

interface Task {
  readonly task_id: string
  readonly application_id: string
  readonly dataset_id: string
  readonly platform: string
  readonly query: string
  readonly status: string
  readonly items: number
  readonly max_items: number
  readonly collector_id: string | null
  readonly created_at: string
  readonly deadline_at: string
  readonly error: { readonly code: string; readonly message: string } | null
}

const everyMs = 5_000

interface LiveTasksProps {
  readonly place: Place
  /** Names by id. */
  readonly collectors: ReadonlyMap<string, string>
}

/** What live queries ask collectors for. */
export function LiveTasks({ place, collectors }: LiveTasksProps): ComponentChild {
  const isAll = place.query.get('all') === '1'
  const query = isAll ? {} : { unfinished: true }
  const { items, fault, more } = usePages<Task>('/admin/v1/live/tasks', 'tasks', query, everyMs)
  const names = useApplicationNames()
  return h(
    'section',
    { 'aria-labelledby': 'live-tasks' },
    h('h2', { id: 'live-tasks' }, 'Tasks of live queries'),
    h(
      'div',
      { class: 'filters' },
      h(
        'label',
        { class: 'check' },
        h('input', {
          type: 'checkbox',
          checked: isAll,
          onChange: () => go(addressOf('/operate/collectors', { all: isAll ? '' : '1' })),
        }),
        'Those that are over, too',
      ),
    ),
    h(
      Standing,
      { fault, isKnown: items !== null, isEmpty: items?.length === 0 },
      isAll ? 'No live query was started yet.' : 'Nothing is asked of collectors at the moment.',
    ),
    items === null || items.length === 0
      ? null
      : h(Table<Task>, {
          label: 'Tasks of live queries, newest first',
          keyOf: ({ task_id: id }) => id,
          rows: items,
          columns: [
            {
              title: 'Asked for',
              cell: ({ query: words, platform, dataset_id: dataset }) => [
                h('span', { dir: 'auto' }, words),
                h('small', null, `${platform}, for ${dataset}`),
              ],
            },
            { title: 'By', cell: ({ application_id: id }) => h(ApplicationLink, { id, names }) },
            {
              title: 'State',
              cell: ({ status, error }) => [
                state(status),
                error === null ? null : h('small', { dir: 'auto' }, error.message),
              ],
            },
            { title: 'Brought', isNumber: true, cell: (task) => `${task.items} of ${task.max_items}` },
            {
              title: 'Collector',
              cell: ({ collector_id: id }) =>
                id === null ? 'none yet' : h('span', { dir: 'auto' }, collectors.get(id) ?? id),
            },
            {
              title: 'Begun',
              cell: ({ created_at: at, deadline_at: end }) => [
                h('span', { title: moment(at) }, ago(at)),
                h('small', null, `until ${moment(end)}`),
              ],
            },
          ],
        }),
    h(MoreButton, { more }),
  )
}
