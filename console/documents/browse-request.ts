import type { Entitlement } from '../app/account.ts'

/**
 * The filters of a listing by their names in addresses: the request's parameter, and the field whose values are
 * offered.
 */
export const narrowing = {
  platforms: { parameter: 'source_platforms', field: 'platform', title: 'Platform', permission: null },
  types: { parameter: 'content_types', field: 'content_type', title: 'Kind', permission: null },
  topics: { parameter: 'topics', field: 'topics', title: 'Topic', permission: 'metadata' },
  tags: { parameter: 'tags', field: 'tags', title: 'Tag', permission: 'metadata' },
  classifications: {
    parameter: 'classification_codes',
    field: 'classifications',
    title: 'Classification',
    permission: 'facts',
  },
} as const
export type Narrowing = keyof typeof narrowing
export const narrowings = Object.keys(narrowing) as Narrowing[]

/** A listing as its address describes it. Days are UTC days, both included. */
export interface Browsing {
  /** The ID or URL of one document to find. */
  readonly exactly: string
  readonly dataset: string
  readonly lists: Readonly<Record<Narrowing, readonly string[]>>
  /** An author's ID belongs to one platform, so this needs exactly one. */
  readonly author: string
  readonly scoreMin: string
  readonly scoreMax: string
  readonly from: string
  readonly to: string
  readonly status: string
}

export function browsingOf(address: URLSearchParams): Browsing {
  const text = (name: string): string => address.get(name) ?? ''
  const lists = narrowings.map((name) => [name, text(name).split(',').filter(Boolean)])
  return {
    exactly: text('exactly'),
    dataset: text('dataset'),
    lists: Object.fromEntries(lists) as Browsing['lists'],
    author: text('author'),
    scoreMin: text('score_min'),
    scoreMax: text('score_max'),
    from: text('from'),
    to: text('to'),
    status: text('status'),
  }
}

export function parametersOf(browsing: Browsing): Record<string, string> {
  return {
    exactly: browsing.exactly,
    dataset: browsing.dataset,
    ...Object.fromEntries(narrowings.map((name) => [name, browsing.lists[name].join(',')])),
    author: browsing.author,
    score_min: browsing.scoreMin,
    score_max: browsing.scoreMax,
    from: browsing.from,
    to: browsing.to,
    status: browsing.status,
  }
}

/** Returns the parameters of the request. The caller leaves out the empty ones. */
export function queryOf(browsing: Browsing): Record<string, string> {
  const { exactly, dataset, lists, author, scoreMin, scoreMax, from, to, status } = browsing
  return {
    query: exactly.trim(),
    dataset_id: dataset,
    ...Object.fromEntries(narrowings.map((name) => [narrowing[name].parameter, lists[name].join(',')])),
    external_author_id: author,
    score_min: scoreMin,
    score_max: scoreMax,
    published_from: from === '' ? '' : `${from}T00:00:00Z`,
    published_to: to === '' ? '' : dayAfter(to),
    status,
  }
}

function dayAfter(day: string): string {
  const time = new Date(`${day}T00:00:00Z`)
  // Sends an invalid day unchanged, so that the server says what is expected.
  if (Number.isNaN(time.getTime())) return day
  time.setUTCDate(time.getUTCDate() + 1)
  return time.toISOString().replace('.000', '')
}

/** Whether a filter that needs this permission works in at least one entry. */
export const mayUse = (permission: string | null, entitlements: readonly Entitlement[]): boolean =>
  permission === null || entitlements.some(({ fields }) => !fields || fields.includes(permission))
