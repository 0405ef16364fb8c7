import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { useEffect } from 'preact/hooks'
import { account, readAccount } from '../app/account.ts'
import { callApi, inWords } from '../app/call-api.ts'
import { AsCode } from '../shared/as-code.ts'
import { AnalysisForm, newDraft, requestBehind } from './analysis-form.ts'
import type { AnalysisDraft } from './analysis-request.ts'
import { AnalysisTabs } from './analysis-tabs.ts'
import { isUnderWay, type Run } from './analysis-types.ts'
import { RunList } from './run-list.ts'

const pollMs = 2_000

interface RunPage {
  readonly runs: readonly Run[]
  readonly next_cursor?: string
}

/** Lists the runs, and starts new ones. */
export function AnalysisView(): ComponentChild {
  const draft = useSignal<AnalysisDraft | null>(null)
  const runs = useSignal<readonly Run[] | null>(null)
  const cursor = useSignal<string | undefined>(undefined)
  const fault = useSignal<string | null>(null)
  const round = useSignal(0)

  useEffect(() => {
    const controller = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const showError = (error: unknown): void => {
      if (!controller.signal.aborted) fault.value = inWords(error)
    }
    const read = async (): Promise<void> => {
      const page = await callApi<RunPage>('GET', '/v1/analysis/runs', { signal: controller.signal })
      controller.signal.throwIfAborted()
      // Older pages are kept as they were read; only the newest is polled.
      const newest = new Set(page.runs.map(({ run_id: id }) => id))
      if (runs.value === null) cursor.value = page.next_cursor
      runs.value = [...page.runs, ...(runs.value ?? []).filter(({ run_id: id }) => !newest.has(id))]
      if (page.runs.some(isUnderWay)) timer = setTimeout(() => read().catch(showError), pollMs)
    }
    const prepare = async (): Promise<void> => {
      const known = account.value ?? (await readAccount())
      draft.value ??= newDraft(known)
    }
    Promise.all([prepare(), read()]).catch(showError)
    return () => {
      controller.abort()
      clearTimeout(timer)
    }
  }, [round.value])

  const readMore = async (): Promise<void> => {
    try {
      const page = await callApi<RunPage>('GET', '/v1/analysis/runs', { query: { cursor: cursor.value } })
      runs.value = [...(runs.value ?? []), ...page.runs]
      cursor.value = page.next_cursor
    } catch (error) {
      fault.value = inWords(error)
    }
  }

  const known = account.value
  const request =
    known === null || draft.value === null
      ? { method: 'GET', path: '/v1/analysis/runs' }
      : requestBehind(draft.value, known)
  return [
    h('div', { class: 'view-head', key: 'head' }, h('h1', null, 'Analysis'), h(AsCode, { request })),
    h(AnalysisTabs, { key: 'tabs', current: 'runs' }),
    fault.value === null ? null : h('p', { class: 'notice bad', role: 'alert', key: 'fault' }, fault.value),
    known !== null && !known.policy.analysis_enabled
      ? h(
          'p',
          { class: 'notice warn', key: 'off' },
          'Analysis is turned off for this application. An operator can turn it on (analysis_enabled in its policy).',
        )
      : null,
    h(
      'div',
      { class: 'analysis-columns', key: 'columns' },
      known?.policy.analysis_enabled ? h(AnalysisForm, { draft, readRuns: () => round.value++ }) : null,
      h(
        'section',
        { 'aria-labelledby': 'runs' },
        h('h2', { id: 'runs' }, 'Runs'),
        runs.value === null
          ? h('p', { class: 'note', role: 'status' }, fault.value === null ? 'Loading …' : '')
          : runs.value.length === 0
            ? h('p', { class: 'empty' }, 'No runs yet. Runs you start appear here with their results.')
            : h(RunList, { runs: runs.value, label: 'Runs' }),
        cursor.value === undefined
          ? null
          : h('button', { type: 'button', class: 'button', onClick: readMore }, 'Older runs'),
      ),
    ),
  ]
}
