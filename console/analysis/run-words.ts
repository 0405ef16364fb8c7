import { dayInWords, momentInWords } from '../shared/words-of-time.ts'
import type { InputScope, Run, Subscription } from './analysis-types.ts'

/** A number and its noun. The number has the reader's own format. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString()} ${count === 1 ? one : many}`

const languages = new Intl.DisplayNames(undefined, { type: 'language' })

export function scopeInWords(scope: InputScope): string {
  const of = (name: string, values: readonly string[] | undefined): string | null =>
    values === undefined ? null : `${name} ${values.join(', ')}`
  const times = (name: string, from: string | undefined, to: string | undefined): string | null =>
    from === undefined && to === undefined
      ? null
      : `${name} ${[from && `from ${dayInWords(from)}`, to && `before ${dayInWords(to)}`].filter(Boolean).join(' and ')}`
  return [
    scope.dataset_ids.join(', '),
    of('on', scope.source_platforms),
    scope.languages?.map((code) => languages.of(code)).join(', ') ?? null,
    of('of', scope.regions),
    of('as', scope.content_types),
    times('published', scope.published_from, scope.published_to),
    times('collected', scope.created_from, scope.created_to),
  ]
    .filter((part) => part !== null)
    .join(' · ')
}

export const parametersInWords = (parameters: Run['parameters']): string =>
  Object.entries(parameters ?? {})
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name.replaceAll('_', ' ')} ${Array.isArray(value) ? value.join(', ') : value}`)
    .join(' · ')

export const statusWords: Readonly<Record<Run['status'], string>> = {
  queued: 'Queued',
  validating: 'Starting',
  running: 'Running',
  succeeded: 'Done',
  failed: 'Failed',
  cancelled: 'Cancelled',
  expired: 'Expired',
}

/** Says how much went into a run, and how much was left out. */
export function inputInWords({ input, analysis_type: type }: Run): string {
  if (input === null) return 'Not selected yet'
  const documents = counted(input.documents, 'document')
  if (type === 'feature_rollup') return `${documents}.`
  const without =
    input.without_vector === 0
      ? 'All have vectors.'
      : `${counted(input.without_vector, 'part')} without a vector left out.`
  return `${counted(input.chunks, 'part')} of ${documents}. ${without}`
}

const warningWords: Readonly<Record<string, string>> = {
  vectors_pending:
    'Some documents had no vectors yet when this run started and were left out. A later run will include them.',
  history_lost: 'The results of the previous run are gone, so every topic counts as new.',
}
export const warningInWords = (code: string): string => warningWords[code] ?? `Warning from the server: ${code}.`

const units = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const

function everyInWords(seconds: number): string {
  const [unit, size] = units.find(([, length]) => seconds % length === 0)!
  const count = seconds / size
  return count === 1 ? `every ${unit}` : `every ${count.toLocaleString()} ${unit}s`
}

export function startsInWords({ execution_mode: mode, interval_seconds: seconds }: Subscription): string {
  const every = everyInWords(seconds ?? 86_400)
  if (mode === 'scheduled') return every
  return mode === 'on_change' ? 'when documents change' : `when documents change, and ${every}`
}

export const timeInWords = (time: string): string => momentInWords(time)
