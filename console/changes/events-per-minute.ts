import { type ComponentChild, h } from 'preact'
import { Chart } from '../shared/chart.ts'

const minutesShown = 60

/** The number of events in each minute, by minutes since the epoch. */
export type Minutes = ReadonlyMap<number, number>

export function counted(before: Minutes, times: readonly string[]): Minutes {
  const after = new Map(before)
  for (const time of times) {
    const minute = Math.floor(Date.parse(time) / 60_000)
    after.set(minute, (after.get(minute) ?? 0) + 1)
  }
  // Drops minutes that are no longer drawn, because a page may stay open for weeks.
  const oldest = Math.max(0, ...after.keys()) - 2 * minutesShown
  for (const minute of after.keys()) if (minute < oldest) after.delete(minute)
  return after
}

interface EventsPerMinuteProps {
  readonly minutes: Minutes
  readonly now: number
  /** Whether all events up to now have been read. Otherwise the counts are incomplete and are not shown. */
  readonly isCaughtUp: boolean
}

/** Draws the events of the last hour, by minute. */
export function EventsPerMinute({ minutes, now, isCaughtUp }: EventsPerMinuteProps): ComponentChild {
  const last = Math.max(Math.floor(now / 60_000), ...minutes.keys())
  const shown = Array.from({ length: minutesShown }, (_, i) => last - minutesShown + 1 + i)
  const counts = shown.map((minute) => minutes.get(minute) ?? 0)
  const total = counts.reduce((sum, count) => sum + count, 0)
  return h(
    'section',
    { class: 'card per-minute', 'aria-labelledby': 'per-minute' },
    h(
      'div',
      { class: 'per-minute-head' },
      h('h2', { id: 'per-minute' }, 'Events per minute'),
      h(
        'span',
        { class: 'note' },
        isCaughtUp ? `${total.toLocaleString()} in the last hour, ${counts.at(-1)!.toLocaleString()} this minute` : '…',
      ),
    ),
    h(Chart, {
      label: `Events per minute: ${total} in the last hour, ${Math.max(...counts)} in the busiest minute`,
      kind: 'bars',
      times: shown.map((minute) => minute * 60),
      values: counts,
      heightPx: 120,
      span: [(last - minutesShown + 0.4) * 60, (last + 0.6) * 60],
    }),
  )
}
