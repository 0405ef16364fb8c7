import { type ComponentChild, Fragment, h } from 'preact'
import type { ViewProps } from '../app/view-props.ts'
import { ApplicationLink, useApplicationNames } from './application-names.ts'
import { Head } from './head.ts'
import { analysisTypes } from './limits.ts'
import { isAll, Queue } from './queue.ts'
import { state } from './state.ts'
import { ago, moment, span } from './words.ts'

interface Run {
  readonly run_id: string
  readonly application_id: string
  readonly analysis_type: string
  readonly subscription_id: string | null
  readonly status: string
  readonly progress: number
  readonly attempts: number
  readonly created_at: string
  readonly started_at: string | null
  readonly completed_at: string | null
  readonly error: { readonly code: string; readonly message: string } | null
}

/** Lists the analysis runs of all applications: pending, running and finished. */
export function RunsView({ place }: ViewProps): ComponentChild {
  const names = useApplicationNames()
  return h(
    Fragment,
    null,
    h(Head, { title: 'Run queue', path: `/admin/v1/analysis/runs${isAll(place) ? '' : '?unfinished=true'}` }),
    h(Queue<Run>, {
      place,
      path: '/admin/v1/analysis/runs',
      name: 'runs',
      none: {
        unfinished: 'No runs are queued or in progress.',
        all: 'No runs yet.',
      },
      label: 'Analysis runs, newest first',
      keyOf: ({ run_id: id }) => id,
      columns: [
        {
          title: 'Run',
          cell: ({ run_id: id, analysis_type: type, subscription_id: subscription }) => [
            analysisTypes[type] ?? type,
            h('small', null, subscription === null ? id : `${id}, by a subscription`),
          ],
        },
        { title: 'Application', cell: ({ application_id: id }) => h(ApplicationLink, { id, names }) },
        { title: 'State', cell: (run) => h(Progress, { run }) },
        { title: 'Created', cell: ({ created_at: at }) => h('span', { title: moment(at) }, ago(at)) },
        { title: 'Duration', isNumber: true, cell: tookInWords },
        { title: 'Attempts', isNumber: true, cell: ({ attempts }) => String(attempts) },
      ],
    }),
  )
}

function Progress({ run }: { readonly run: Run }): ComponentChild {
  return h(
    'div',
    null,
    state(run.status),
    run.status === 'running' ? h('progress', { max: 1, value: run.progress, 'aria-label': 'Progress' }) : null,
    run.error === null ? null : h('small', { dir: 'auto' }, run.error.message),
  )
}

function tookInWords({ started_at: from, completed_at: to }: Run): string {
  if (from === null) return ''
  return span(((to === null ? Date.now() : Date.parse(to)) - Date.parse(from)) / 1000)
}
