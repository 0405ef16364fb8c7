import type { AccessRequest } from '../access/compile-scope.ts'
import { documentFields } from '../document/fields.ts'
import { invalidField } from '../platform/errors.ts'
import { dayMs, isWrongInterval, timeMaxMs } from '../platform/time.ts'

/** The rules of a listing that a schema cannot express: windows, lists, and the permissions that filters need. */
const windowDefaultMs = dayMs
const windowMaxMs = 31 * dayMs

export interface IngestWindow {
  readonly from: number | null
  readonly to: number | null
}

/**
 * The first-ingest window of a request. Without times it is the last 24 hours; with only a start, from there until now;
 * with only an end, the 24 hours before it. The end is exclusive, so "now" is the next millisecond. An exact lookup
 * without times has no window. `checkInterval` has already checked that the start is before the end.
 */
export function ingestWindow(from: number | null, to: number | null, exact: boolean, nowMs: number): IngestWindow {
  if (from === null && to === null && exact) return { from: null, to: null }
  // A bound in the last millisecond of the year 9999 is rounded up to a year that an answer cannot express.
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

export function checkScores(least: number | null, most: number | null): void {
  if (least !== null && most !== null && least > most) throw invalid('score_min', 'must not be greater than score_max')
}

/** The field permissions that a listing's conditions need. Each entry must grant all of them. */
export function needsOf(filters: {
  readonly author: boolean
  readonly words: boolean
  readonly classifications: boolean
  readonly score: boolean
}): NonNullable<AccessRequest['needs']> {
  const needs: NonNullable<AccessRequest['needs']>[number][] = []
  if (filters.author) needs.push(documentFields.author.openedBy)
  if (filters.words) needs.push(documentFields.topics.openedBy)
  if (filters.classifications) needs.push(documentFields.classifications.openedBy)
  if (filters.score) needs.push(documentFields.score.openedBy)
  return needs
}

export interface AskedConditions {
  readonly external_author_id?: unknown
  readonly topics?: unknown
  readonly tags?: unknown
  readonly classification_codes?: unknown
  readonly score_min?: unknown
  readonly score_max?: unknown
}

/** The condition that needs each permission, so that an error can name it. */
export function conditionsByNeed(conditions: AskedConditions) {
  const named = (...names: readonly (keyof AskedConditions)[]) => names.find((name) => conditions[name] !== undefined)
  return {
    'author or metadata': named('external_author_id'),
    metadata: named('topics', 'tags'),
    facts: named('classification_codes'),
    metrics: named('score_min', 'score_max'),
  }
}

export const invalid = (path: string, message: string) => invalidField('invalid_document_query', path, message)
