import { type ComponentChild, h } from 'preact'
import type { Counted } from '../shared/facet-list.ts'
import { dayInWords } from '../shared/words-of-time.ts'
import type { TimeUnit } from './search-request.ts'

interface Bucket {
  readonly value: string
  readonly count: number
}

/** Wider gaps would squeeze the bars to nothing: then only those are drawn that have something. */
const barsMax = 120

/** The bucket after one that begins on that day. */
function next(day: string, unit: TimeUnit): string {
  const time = new Date(`${day}T00:00:00Z`)
  if (unit === 'day') time.setUTCDate(time.getUTCDate() + 1)
  else time.setUTCMonth(time.getUTCMonth() + 1)
  return time.toISOString().slice(0, 10)
}

/** A facet names a month by its first day, or without one. */
const dayOf = (value: string): string => (value.length === 7 ? `${value}-01` : value.slice(0, 10))

/** Buckets in the order of time, those without anything between them too. */
function bucketsOf(counts: readonly Counted[], unit: TimeUnit): readonly Bucket[] {
  const known = new Map(counts.map(({ value, count }) => [dayOf(value), count ?? 0]))
  const days = [...known.keys()].sort()
  const [first, last] = [days[0], days.at(-1)]
  if (first === undefined || last === undefined) return []
  const all: Bucket[] = []
  for (let day = first; day <= last && all.length <= barsMax; day = next(day, unit)) {
    all.push({ value: day, count: known.get(day) ?? 0 })
  }
  return all.length > barsMax ? days.map((day) => ({ value: day, count: known.get(day)! })) : all
}

export interface TimeHistogramProps {
  readonly counts: readonly Counted[]
  readonly unit: TimeUnit
  readonly choose: (from: string, to: string) => void
}

/** When what was found was published. A bar narrows the search to its time. */
export function TimeHistogram({ counts, unit, choose }: TimeHistogramProps): ComponentChild {
  const buckets = bucketsOf(counts, unit)
  if (buckets.length < 2) return null
  const most = Math.max(...buckets.map(({ count }) => count))
  return h(
    'div',
    { class: 'histogram', role: 'group', 'aria-label': `Published, by ${unit}` },
    h(
      'div',
      { class: 'bars' },
      buckets.map(({ value, count }) =>
        h(
          'button',
          {
            key: value,
            type: 'button',
            disabled: count === 0,
            title: `${dayInWords(value)}: ${count}`,
            onClick: () => choose(`${value}T00:00:00Z`, `${next(value, unit)}T00:00:00Z`),
          },
          h('span', { class: 'bar-fill', style: { height: `${(count / most) * 100}%` } }),
          h('span', { class: 'hidden-label' }, `${dayInWords(value)}: ${count} document${count === 1 ? '' : 's'}`),
        ),
      ),
    ),
    h(
      'p',
      { class: 'axis', 'aria-hidden': 'true' },
      h('span', null, dayInWords(buckets[0]!.value)),
      h('span', null, dayInWords(buckets.at(-1)!.value)),
    ),
  )
}
