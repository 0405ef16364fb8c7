import { type ComponentChild, h } from 'preact'
import type { Place } from '../app/router.ts'
import { ApplicationLink, useApplicationNames } from './application-names.ts'
import { Queue } from './queue.ts'
import { state } from './state.ts'
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

interface LiveTasksProps {
  readonly place: Place
  /** Names by ID. */
  readonly collectors: ReadonlyMap<string, string>
}

/** Lists the tasks that live queries create for collectors. */
export function LiveTasks({ place, collectors }: LiveTasksProps): ComponentChild {
  const names = useApplicationNames()
  return h(
    'section',
    { 'aria-labelledby': 'live-tasks' },
    h('h2', { id: 'live-tasks' }, 'Live query tasks'),
    h(Queue<Task>, {
      place,
      path: '/admin/v1/live/tasks',
      name: 'tasks',
      none: {
        unfinished: 'No tasks in progress.',
        all: 'No live queries yet.',
      },
      label: 'Live query tasks, newest first',
      keyOf: ({ task_id: id }) => id,
      columns: [
        {
          title: 'Query',
          cell: ({ query: words, platform, dataset_id: dataset }) => [
            h('span', { dir: 'auto' }, words),
            h('small', null, `${platform}, for ${dataset}`),
          ],
        },
        { title: 'Application', cell: ({ application_id: id }) => h(ApplicationLink, { id, names }) },
        {
          title: 'State',
          cell: ({ status, error }) => [
            state(status),
            error === null ? null : h('small', { dir: 'auto' }, error.message),
          ],
        },
        { title: 'Documents', isNumber: true, cell: (task) => `${task.items} of ${task.max_items}` },
        {
          title: 'Collector',
          cell: ({ collector_id: id }) =>
            id === null ? 'none yet' : h('span', { dir: 'auto' }, collectors.get(id) ?? id),
        },
        {
          title: 'Started',
          cell: ({ created_at: at, deadline_at: end }) => [
            h('span', { title: moment(at) }, ago(at)),
            h('small', null, `until ${moment(end)}`),
          ],
        },
      ],
    }),
  )
}
