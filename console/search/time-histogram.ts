import { type ComponentChild, h } from 'preact'
import type { ValueCount } from '../shared/value-counts.ts'
import { dayInWords } from '../shared/words-of-time.ts'
import type { TimeUnit } from './search-request.ts'
import { dayAfter, spanOf } from './time-span.ts'

export interface TimeHistogramProps {
  readonly counts: readonly ValueCount[]
  readonly unit: TimeUnit
  /** Called with times, which are empty for no bound. */
  readonly choose: (from: string, to: string) => void
}

const start = (day: string): string => (day === '' ? '' : `${day}T00:00:00Z`)

/**
 * Shows when the results were published. A click on a bar narrows the search to its period, and so does a click on the
 * number of documents before or after the bars.
 */
export function TimeHistogram({ counts, unit, choose }: TimeHistogramProps): ComponentChild {
  const span = spanOf(counts, unit)
  if (span === null) return null
  const { buckets, end, before, after } = span
  if (buckets.length < 2 && before + after === 0) return null
  const most = Math.max(...buckets.map(({ count }) => count))
  const [first, last] = [buckets[0]!.day, buckets.at(-1)!.day]
  return h(
    'div',
    { class: 'histogram', role: 'group', 'aria-label': `Published, by ${unit}` },
    h(
      'div',
      { class: 'bars' },
      buckets.map(({ day, count }) =>
        h(
          'button',
          {
            key: day,
            type: 'button',
            disabled: count === 0,
            title: `${dayInWords(day)}: ${count}`,
            onClick: () => choose(start(day), start(dayAfter(day, unit))),
          },
          h('span', { class: 'bar-fill', style: { height: `${(count / most) * 100}%` } }),
          h('span', { class: 'hidden-label' }, `${dayInWords(day)}: ${count} document${count === 1 ? '' : 's'}`),
        ),
      ),
    ),
    h(
      'div',
      { class: 'axis' },
      outside(before, 'before', () => choose('', start(first))),
      h('span', { 'aria-hidden': 'true' }, dayInWords(first)),
      h('span', { 'aria-hidden': 'true', class: 'end' }, dayInWords(last)),
      outside(after, 'after', () => choose(start(end), '')),
    ),
  )
}

const outside = (count: number, where: string, choose: () => void): ComponentChild =>
  count === 0
    ? null
    : h('button', { type: 'button', class: 'quiet-button', onClick: choose }, `${count.toLocaleString()} ${where}`)
