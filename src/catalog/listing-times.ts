import { invalidField } from '../platform/errors.ts'
import { dayMs, isWrongInterval, timeMaxMs } from '../platform/time.ts'

const windowDefaultMs = dayMs
const windowMaxMs = 31 * dayMs

export interface IngestWindow {
  readonly from: number | null
  readonly to: number | null
}

/**
 * The first-ingest window of a listing. Without times it is the last 24 hours. With only a start, it ends now; with
 * only an end, it is the 24 hours before. The end is exclusive, so "now" is the next millisecond. An exact lookup
 * without times has no window. `checkInterval` has already checked that the start is before the end.
 */
export function ingestWindow(from: number | null, to: number | null, exact: boolean, nowMs: number): IngestWindow {
  if (from === null && to === null && exact) return { from: null, to: null }
  // A bound in the last millisecond of the year 9999 is rounded up to a year that RFC 3339 cannot express.
  const end = Math.min(to ?? nowMs + 1, timeMaxMs)
  const start = from ?? end - windowDefaultMs
  if (to === null && start >= end) throw invalid('created_from', 'must be before now')
  if (end - start > windowMaxMs + (to === null ? 1 : 0)) {
    throw invalid(
      'created_from',
      'is more than 31 days before the end of the window: split longer times into several requests',
    )
  }
  return { from: start, to: end }
}

type Intervals = Readonly<Partial<Record<`${'published' | 'created'}_${'from' | 'to'}`, string>>>

export function checkInterval(times: Intervals, name: 'published' | 'created'): void {
  const [from, to] = [`${name}_from`, `${name}_to`] as const
  if (isWrongInterval(times[from], times[to])) throw invalid(from, `must be before ${to}`)
}

export const invalid = (path: string, message: string) => invalidField('invalid_document_query', path, message)
