import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { useEffect } from 'preact/hooks'
import { inWords } from '../app/call-api.ts'
import { artifactPath, readRows } from './read-table.ts'
import type { ResultProps } from './result-props.ts'
import { counted } from './run-words.ts'

type Row = Readonly<Record<string, unknown>>
const shownFirst = 100

/** Shows counts as a table: by day if the rows have days, then the highest count first. */
export function CountTable({ run, artifact }: ResultProps): ComponentChild {
  const rows = useSignal<readonly Row[] | null>(null)
  const shown = useSignal(shownFirst)
  const fault = useSignal<string | null>(null)
  useEffect(() => {
    const controller = new AbortController()
    readRows<Row>(artifactPath(run.run_id, artifact), controller.signal).then(
      (found) => {
        // If neither row has a day, the difference is NaN, which is falsy.
        rows.value = found.toSorted((a, b) => dayOf(a) - dayOf(b) || Number(b.documents) - Number(a.documents))
      },
      (error) => {
        if (!controller.signal.aborted) fault.value = inWords(error)
      },
    )
    return () => controller.abort()
  }, [artifact.artifact_id])
  if (fault.value !== null) return h('p', { class: 'notice bad', role: 'alert' }, fault.value)
  if (rows.value === null) return h('p', { class: 'note', role: 'status' }, 'Loading counts …')
  if (rows.value.length === 0) return h('p', { class: 'empty' }, 'No documents to count.')
  const columns = Object.keys(rows.value[0]!).filter((name) => rows.value!.some((row) => row[name] !== null))
  const numbers = new Set(columns.filter((name) => rows.value!.some((row) => isNumber(row[name]))))
  const kind = (name: string): string => (numbers.has(name) ? 'number' : '')
  return [
    h('h2', { key: 'h' }, counted(rows.value.length, 'row')),
    h(
      'div',
      { class: 'table-frame', key: 'table', tabindex: 0, role: 'region', 'aria-label': 'Counts' },
      h(
        'table',
        { class: 'counts' },
        h(
          'thead',
          null,
          h(
            'tr',
            null,
            columns.map((name) => h('th', { key: name, scope: 'col', class: kind(name) }, name.replaceAll('_', ' '))),
          ),
        ),
        h(
          'tbody',
          null,
          rows.value.slice(0, shown.value).map((row, i) =>
            h(
              'tr',
              { key: i },
              columns.map((name) => h('td', { key: name, dir: 'auto', class: kind(name) }, cell(row[name]))),
            ),
          ),
        ),
      ),
    ),
    rows.value.length > shown.value
      ? h(
          'button',
          {
            key: 'more',
            type: 'button',
            class: 'button',
            onClick: () => {
              shown.value += shownFirst
            },
          },
          'More rows',
        )
      : null,
  ]
}

/** Returns the first day of the period that a row counts. A row without a period sorts last. */
const dayOf = ({ bucket }: Row): number => (bucket instanceof Date ? Number(bucket) : Number.POSITIVE_INFINITY)

const isNumber = (value: unknown): boolean => typeof value === 'number' || typeof value === 'bigint'

function cell(value: unknown): string {
  if (value === null || value === undefined) return '–'
  if (value instanceof Date) return value.toISOString().slice(0, 10)
  return isNumber(value) ? Number(value).toLocaleString() : String(value)
}
