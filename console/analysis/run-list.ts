import { type ComponentChild, h } from 'preact'
import { isUnderWay, type Run, typeWords } from './analysis-types.ts'
import { counted, scopeInWords, statusWords, timeInWords } from './run-words.ts'

const states: Readonly<Record<Run['status'], string>> = {
  queued: 'busy',
  validating: 'busy',
  running: 'busy',
  succeeded: 'good',
  failed: 'bad',
  cancelled: '',
  expired: '',
}

export const RunStatus = ({ run }: { readonly run: Run }): ComponentChild =>
  h(
    'span',
    { class: 'run-status', 'data-state': states[run.status] },
    run.status === 'running' && run.progress > 0
      ? `${statusWords[run.status]} ${Math.floor(run.progress * 100)} %`
      : statusWords[run.status],
  )

/** Lists runs, each with a link to its page. */
export function RunList({ runs, label }: { readonly runs: readonly Run[]; readonly label: string }): ComponentChild {
  return h(
    'ol',
    { class: 'run-list', 'aria-label': label },
    runs.map((run) =>
      h(
        'li',
        { key: run.run_id },
        h(
          'a',
          { href: `/analysis/runs/${encodeURIComponent(run.run_id)}` },
          h('strong', null, typeWords[run.analysis_type]?.title ?? run.analysis_type),
          h(RunStatus, { run }),
          h('span', { class: 'run-scope', dir: 'auto' }, scopeInWords(run.input_scope)),
          h(
            'span',
            { class: 'run-facts' },
            run.input === null ? '' : `${counted(run.input.documents, 'document')} · `,
            timeInWords(run.created_at),
          ),
          run.error === undefined ? null : h('span', { class: 'run-error' }, run.error.message),
          isUnderWay(run) ? h('progress', { max: 1, value: run.progress, 'aria-label': 'Progress' }) : null,
        ),
      ),
    ),
  )
}
