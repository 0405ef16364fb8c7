import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { account } from '../app/account.ts'
import { callApi, inWords } from '../app/call-api.ts'
import { typesOf } from './analysis-form.ts'
import type { Artifact, Run } from './analysis-types.ts'
import { followRun } from './follow-run.ts'
import { artifactPath, readRows } from './read-table.ts'

/** The topic of each text, and the words of each topic. */
export interface Clusters {
  readonly of: ReadonlyMap<string, string>
  readonly words: ReadonlyMap<string, string>
}

interface Props {
  readonly run: Run
  readonly chosen: Clusters | null
  readonly choose: (clusters: Clusters) => void
}

/** Loads the topics of an earlier run over the same scope, or offers to compute them. */
export function ClusterChoice({ run, chosen, choose }: Props): ComponentChild {
  const state = useSignal<'looking' | 'none' | 'computing'>('looking')
  const fault = useSignal<string | null>(null)
  const controller = useRef(new AbortController())
  const attempt = (work: () => Promise<void>): void => {
    work().catch((error) => {
      if (!controller.current.signal.aborted) fault.value = inWords(error)
    })
  }
  useEffect(() => {
    controller.current = new AbortController()
    if (chosen === null) {
      attempt(async () => {
        const { signal } = controller.current
        const query = { status: 'succeeded', limit: 200 }
        const { runs } = await callApi<{ runs: readonly Run[] }>('GET', '/v1/analysis/runs', { query, signal })
        const found = runs.find((one) => one.analysis_type === 'clustering' && inputKeyOf(one) === inputKeyOf(run))
        if (found === undefined) state.value = 'none'
        else choose(await readClusters(found, signal))
      })
    }
    return () => controller.current.abort()
  }, [])
  const start = (): void =>
    attempt(async () => {
      const { signal } = controller.current
      fault.value = null
      state.value = 'computing'
      const started = await callApi<Run>('POST', '/v1/analysis/runs', {
        body: {
          analysis_type: 'clustering',
          embedding_profile_id: run.embedding_profile_id,
          input_scope: run.input_scope,
          input_cutoff_at: run.input_cutoff_at,
        },
      })
      const ended = await followRun(started.run_id, signal, () => {})
      if (ended.status !== 'succeeded') {
        state.value = 'none'
        throw new Error(ended.error?.message ?? `The topics could not be computed: the run ${ended.status}.`)
      }
      choose(await readClusters(ended, signal))
    })
  if (fault.value !== null) return h('p', { class: 'notice bad', role: 'alert' }, fault.value)
  if (chosen !== null) return null
  if (state.value !== 'none') {
    const words = state.value === 'looking' ? 'Checking earlier runs …' : 'Computing topics …'
    return h('p', { class: 'notice', role: 'status' }, words)
  }
  return typesOf(account.value).includes('clustering')
    ? h(
        'p',
        { class: 'notice cluster-choice', role: 'status' },
        'These texts have no topics yet.',
        h('button', { type: 'button', class: 'button small', onClick: start }, 'Find topics'),
      )
    : h(
        'p',
        { class: 'notice', role: 'status' },
        'Topics are not available to this application. An operator can allow the analysis type “clustering”.',
      )
}

/** Runs with the same key have the same scope and profile, and so mostly the same texts. Their cutoffs may differ. */
const inputKeyOf = ({ input_scope: scope, embedding_profile_id: profile }: Run): string =>
  JSON.stringify([profile, Object.entries(scope).sort(([a], [b]) => (a < b ? -1 : 1))])

async function readClusters(run: Run, signal: AbortSignal): Promise<Clusters> {
  const { artifacts } = await callApi<{ artifacts: readonly Artifact[] }>(
    'GET',
    `/v1/analysis/runs/${run.run_id}/artifacts`,
    { signal },
  )
  const rowsOf = <Row>(name: string): Promise<readonly Row[]> => {
    const artifact = artifacts.find((one) => one.name === name)
    if (artifact === undefined) throw new Error('The topics of these texts have expired.')
    return readRows<Row>(artifactPath(run.run_id, artifact), signal)
  }
  const [assignments, clusters] = await Promise.all([
    rowsOf<{ subject_id: string; cluster_id: string | null }>('assignments'),
    rowsOf<{ cluster_id: string; words: readonly string[] }>('clusters'),
  ])
  return {
    of: new Map(assignments.flatMap(({ subject_id: id, cluster_id: of }) => (of === null ? [] : [[id, of]]))),
    words: new Map(clusters.map(({ cluster_id: id, words }) => [id, words.slice(0, 4).join(', ') || 'without words'])),
  }
}
