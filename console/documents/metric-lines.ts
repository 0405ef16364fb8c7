import { type ComponentChild, h } from 'preact'
import { useApi } from '../app/use-api.ts'
import { Chart } from '../shared/chart.ts'
import { pathSegment } from '../shared/path-segment.ts'
import { dayInWords } from '../shared/words-of-time.ts'
import type { Snapshot } from './document-types.ts'

/** The number of snapshots that are read. The API has older ones. */
const snapshotsMax = 200
const metricsMax = 12

/** Draws each metric on its own scale, because views are often in the thousands where comments are in the tens. */
export function MetricLines({ documentId }: { readonly documentId: string }): ComponentChild {
  const path = `/v1/documents/${pathSegment(documentId)}/snapshots`
  const { body, fault, status } = useApi<{ snapshots: readonly Snapshot[] }>({
    path,
    query: { limit: snapshotsMax },
  })
  // The API lists snapshots in the order of arrival, and some arrive late.
  const snapshots = (body.value?.snapshots ?? []).toSorted(
    (a, b) => Date.parse(a.observed_at) - Date.parse(b.observed_at),
  )
  const names = [...new Set(snapshots.flatMap(({ metrics }) => Object.keys(metrics)))].slice(0, metricsMax)
  const rows = [
    ...(snapshots.some(({ score }) => score !== null) ? [{ name: 'score', read: (one: Snapshot) => one.score }] : []),
    ...names.map((name) => ({ name, read: (one: Snapshot) => one.metrics[name] ?? null })),
  ]
  // 403: the application may not read metrics.
  if (status.value === 403 || (body.value !== null && rows.length === 0)) return null
  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'metrics' },
    h('h2', { id: 'metrics' }, 'Metrics'),
    fault.value === null ? null : h('p', { class: 'fault' }, fault.value),
    body.value === null && fault.value === null ? h('p', { class: 'note' }, 'Loading …') : null,
    h(
      'div',
      { class: 'metrics' },
      rows.map(({ name, read }) => h(Metric, { key: name, name, snapshots, read })),
    ),
    snapshots.length === 0
      ? null
      : h(
          'p',
          { class: 'note' },
          snapshots.length === 1
            ? `Measured once, on ${dayInWords(snapshots[0]!.observed_at)}.`
            : `${snapshots.length} snapshots, from ${dayInWords(snapshots[0]!.observed_at)} to ${dayInWords(snapshots.at(-1)!.observed_at)}.`,
        ),
  )
}

interface MetricProps {
  readonly name: string
  readonly snapshots: readonly Snapshot[]
  readonly read: (one: Snapshot) => number | null
}

function Metric({ name, snapshots, read }: MetricProps): ComponentChild {
  const known = snapshots.filter((one) => read(one) !== null)
  if (known.length === 0) return null
  const [first, last] = [read(known[0]!)!, read(known.at(-1)!)!]
  const change = last - first
  const words = `${change > 0 ? '+' : ''}${change.toLocaleString()}`
  return h(
    'div',
    { class: 'metric' },
    h(
      'p',
      null,
      h('bdi', { class: 'metric-name' }, name.replaceAll('_', ' ')),
      h('strong', null, last.toLocaleString()),
    ),
    change === 0 ? null : h('span', { class: 'metric-change', 'data-state': change > 0 ? 'up' : 'down' }, words),
    known.length < 2
      ? null
      : h(Chart, {
          label: `${name}: from ${first.toLocaleString()} on ${dayInWords(known[0]!.observed_at)} to ${last.toLocaleString()} on ${dayInWords(known.at(-1)!.observed_at)}`,
          kind: 'line',
          times: known.map(({ observed_at }) => Date.parse(observed_at) / 1000),
          values: known.map(read),
          heightPx: 96,
        }),
  )
}
