import type { AccessRequest } from '../access/compile-scope.ts'
import { invalidField } from '../errors.ts'
import { dayMs } from '../time.ts'

/** The listing's rules that are not schema: windows, lists and what filters need. */
const windowDefaultMs = dayMs
const windowMaxMs = 31 * dayMs

export interface IngestWindow {
  readonly from: number | null
  readonly to: number | null
}

/**
 * The first-ingest window of a request. Nothing given: the last 24 hours. Only a start: up to now. Only an end: the 24
 * hours before it. The end is exclusive, so "now" is the next millisecond. An exact lookup without times has no window.
 */
export function ingestWindow(from: number | null, to: number | null, exact: boolean, nowMs: number): IngestWindow {
  if (from === null && to === null && exact) return { from: null, to: null }
  const end = to ?? nowMs + 1
  const start = from ?? end - windowDefaultMs
  if (start >= end) throw invalid('created_from', `must be before ${to === null ? 'now' : 'created_to'}`)
  if (end - start > windowMaxMs + (to === null ? 1 : 0)) {
    throw invalid(
      'created_from',
      'is more than 31 days before the end of the window: split longer times into several requests',
    )
  }
  return { from: start, to: end }
}

export function checkInterval(from: number | null, to: number | null, path: string): void {
  if (from !== null && to !== null && from >= to) throw invalid(path, 'must be before the end of its interval')
}

export function checkScores(least: number | null, most: number | null): void {
  if (least !== null && most !== null && least > most) throw invalid('score_min', 'must not be greater than score_max')
}

/** Which field permissions a listing's conditions need; each entry must grant all of them. */
export function needsOf(filters: {
  readonly author: boolean
  readonly words: boolean
  readonly classifications: boolean
  readonly score: boolean
}): NonNullable<AccessRequest['needs']> {
  const needs: NonNullable<AccessRequest['needs']>[number][] = []
  if (filters.author) needs.push(['author', 'metadata'])
  if (filters.words) needs.push(['metadata'])
  if (filters.classifications) needs.push(['facts'])
  if (filters.score) needs.push(['metrics'])
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

/** Which of the conditions needs which permission, to name it where that is missing. */
export function conditionsByNeed(asked: AskedConditions) {
  const named = (...names: readonly (keyof AskedConditions)[]) => names.find((name) => asked[name] !== undefined)
  return {
    'author or metadata': named('external_author_id'),
    metadata: named('topics', 'tags'),
    facts: named('classification_codes'),
    metrics: named('score_min', 'score_max'),
  }
}

export const invalid = (path: string, message: string) => invalidField('invalid_document_query', path, message)
