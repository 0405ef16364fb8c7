import { useSignal } from '@preact/signals'
import { type ComponentChild, type ComponentType, h } from 'preact'
import { useEffect } from 'preact/hooks'
import { callApi, downloadFile, inWords } from '../app/call-api.ts'
import type { ViewProps } from '../app/view-props.ts'
import { AsCode } from '../shared/as-code.ts'
import { pathSegment } from '../shared/path-segment.ts'
import { type AnalysisType, type Artifact, isUnderWay, type Run, typeWords } from './analysis-types.ts'
import { followRun } from './follow-run.ts'
import { artifactPath } from './read-table.ts'
import type { ResultProps } from './result-props.ts'
import { RunStatus } from './run-list.ts'
import { inputInWords, parametersInWords, scopeInWords, timeInWords, warningInWords } from './run-words.ts'

/** Shows one run: its progress, its input, its files and its result. */
export function RunView({ params }: ViewProps): ComponentChild {
  const id = params.run_id!
  const run = useSignal<Run | null>(null)
  const artifacts = useSignal<readonly Artifact[]>([])
  const fault = useSignal<string | null>(null)
  useEffect(() => {
    const controller = new AbortController()
    const follow = async (): Promise<void> => {
      const ended = await followRun(id, controller.signal, (now) => {
        run.value = now
      })
      if (ended.status !== 'succeeded') return
      const path = `/v1/analysis/runs/${pathSegment(id)}/artifacts`
      const listed = await callApi<{ artifacts: readonly Artifact[] }>('GET', path, { signal: controller.signal })
      artifacts.value = listed.artifacts
    }
    run.value = null
    artifacts.value = []
    fault.value = null
    follow().catch((error) => {
      if (!controller.signal.aborted) fault.value = inWords(error)
    })
    return () => controller.abort()
  }, [id])

  const cancel = async (): Promise<void> => {
    try {
      run.value = await callApi<Run>('POST', `/v1/analysis/runs/${pathSegment(id)}/cancel`, { repeatable: true })
    } catch (error) {
      fault.value = inWords(error)
    }
  }

  const known = run.value
  return [
    h(
      'div',
      { class: 'view-head', key: 'head' },
      h(
        'div',
        { class: 'run-title' },
        h('a', { href: '/analysis' }, 'Analysis'),
        h('h1', null, known === null ? 'Run' : (typeWords[known.analysis_type]?.title ?? known.analysis_type)),
        known === null ? null : h('span', { role: 'status' }, h(RunStatus, { run: known })),
      ),
      h(AsCode, { request: { method: 'GET', path: `/v1/analysis/runs/${pathSegment(id)}` } }),
    ),
    fault.value === null ? null : h('p', { class: 'notice bad', role: 'alert', key: 'fault' }, fault.value),
    known === null ? null : h(Known, { key: 'known', run: known, artifacts: artifacts.value, cancel }),
  ]
}

interface KnownProps {
  readonly run: Run
  readonly artifacts: readonly Artifact[]
  readonly cancel: () => void
}

function Known({ run, artifacts, cancel }: KnownProps): ComponentChild {
  const parameters = parametersInWords(run.parameters)
  const facts = [
    ['Documents', scopeInWords(run.input_scope)],
    ...(parameters === '' ? [] : [['Parameters', parameters]]),
    ['Input', inputInWords(run)],
    ['As of', timeInWords(run.input_cutoff_at)],
    ...(run.subscription_id === null ? [] : [['Started by', 'a subscription']]),
    ['Kept until', timeInWords(run.expires_at)],
  ] as const
  return h(
    'div',
    { class: 'run' },
    run.error === undefined
      ? null
      : h('p', { class: 'notice bad', role: 'alert' }, `The run failed: ${run.error.message}.`.replace(/\.\.$/, '.')),
    run.status === 'cancelled' ? h('p', { class: 'notice' }, 'This run was cancelled. It has no results.') : null,
    run.status === 'expired'
      ? h('p', { class: 'notice' }, 'The results have expired. Start a new run to get them again.')
      : null,
    run.warnings.map(({ code }) => h('p', { key: code, class: 'notice warn' }, warningInWords(code))),
    isUnderWay(run)
      ? h(
          'p',
          { class: 'run-progress' },
          h('progress', { max: 1, value: run.progress, 'aria-label': 'Progress' }),
          h('button', { type: 'button', class: 'button small', onClick: cancel }, 'Cancel'),
        )
      : null,
    artifacts.length === 0 ? null : h(Result, { run, artifacts }),
    h(
      'div',
      { class: 'run-about' },
      h(
        'section',
        { class: 'card', 'aria-labelledby': 'about' },
        h('h2', { id: 'about' }, 'About this run'),
        h(
          'dl',
          { class: 'facts' },
          facts.map(([name, value]) => h('div', { key: name }, h('dt', null, name), h('dd', { dir: 'auto' }, value))),
        ),
      ),
      artifacts.length === 0 ? null : h(Files, { run, artifacts }),
    ),
  )
}

const sizeInWords = (bytes: number): string =>
  bytes < 10_000 ? `${bytes.toLocaleString()} bytes` : `${Math.round(bytes / 1_000).toLocaleString()} kB`

function Files({ run, artifacts }: { readonly run: Run; readonly artifacts: readonly Artifact[] }): ComponentChild {
  const fault = useSignal<string | null>(null)
  const download = async (artifact: Artifact): Promise<void> => {
    try {
      const bytes = await downloadFile(artifactPath(run.run_id, artifact))
      // A plain link cannot send the key, which belongs in a header.
      const address = URL.createObjectURL(new Blob([bytes], { type: 'application/vnd.apache.parquet' }))
      const link = document.createElement('a')
      link.href = address
      link.download = `${artifact.name}-${run.run_id}.parquet`
      link.click()
      URL.revokeObjectURL(address)
      fault.value = null
    } catch (error) {
      fault.value = inWords(error)
    }
  }
  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'files' },
    h('h2', { id: 'files' }, 'Files'),
    h('p', { class: 'note' }, 'Parquet files, readable by pandas, Polars, DuckDB and others.'),
    h(
      'ul',
      { class: 'files' },
      artifacts.map((one) =>
        h(
          'li',
          { key: one.artifact_id },
          h('code', null, one.name),
          h('span', { class: 'note' }, `${one.rows.toLocaleString()} rows, ${sizeInWords(one.bytes)}`),
          h(
            'button',
            {
              type: 'button',
              class: 'button small',
              onClick: () => download(one),
              'aria-label': `Download ${one.name}`,
            },
            'Download',
          ),
        ),
      ),
    ),
    fault.value === null ? null : h('p', { class: 'fault', role: 'alert' }, fault.value),
  )
}

/** For each type, the file that has the result, and the component that shows it. Components are loaded on first use. */
const resultViews: Readonly<
  Record<AnalysisType, readonly [file: string, load: () => Promise<ComponentType<ResultProps>>]>
> = {
  knn_graph: ['edges', async () => (await import('./graph-view.ts')).GraphView],
  clustering: ['clusters', async () => (await import('./topic-list.ts')).TopicList],
  deduplication: ['groups', async () => (await import('./copy-list.ts')).CopyList],
  feature_rollup: ['rollup', async () => (await import('./count-table.ts')).CountTable],
}

function Result({ run, artifacts }: { readonly run: Run; readonly artifacts: readonly Artifact[] }): ComponentChild {
  const shown = useSignal<{ readonly component: ComponentType<ResultProps> } | null>(null)
  const fault = useSignal<string | null>(null)
  const [file, load] = resultViews[run.analysis_type] ?? ['', null]
  const artifact = artifacts.find(({ name }) => name === file)
  useEffect(() => {
    load?.().then(
      (component) => {
        shown.value = { component }
      },
      (error) => {
        fault.value = inWords(error)
      },
    )
  }, [run.run_id])
  if (artifact === undefined) return null
  return h(
    'section',
    { class: 'result', 'aria-label': 'Result' },
    fault.value === null ? null : h('p', { class: 'notice bad', role: 'alert' }, fault.value),
    shown.value === null ? null : h(shown.value.component, { run, artifact }),
  )
}
