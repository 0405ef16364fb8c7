import type { Entitlement } from '../app/account.ts'

/**
 * The list filters by their names in addresses: the parameter of the request, the field whose values are offered, and
 * the permission for that field.
 */
export const listFilters = {
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
export type ListFilter = keyof typeof listFilters
export const listFilterNames = Object.keys(listFilters) as ListFilter[]

/** The filters of a listing, as the page's address has them. Days are UTC days, and both are included. */
export interface BrowseFilters {
  /** The ID or URL of one document to find. */
  readonly exactly: string
  readonly dataset: string
  readonly lists: Readonly<Record<ListFilter, readonly string[]>>
  /** An author's ID belongs to one platform, so this needs exactly one. */
  readonly author: string
  readonly scoreMin: string
  readonly scoreMax: string
  readonly from: string
  readonly to: string
  readonly status: string
}

export function browseFiltersOf(address: URLSearchParams): BrowseFilters {
  const text = (name: string): string => address.get(name) ?? ''
  const lists = listFilterNames.map((name) => [name, text(name).split(',').filter(Boolean)])
  return {
    exactly: text('exactly'),
    dataset: text('dataset'),
    lists: Object.fromEntries(lists) as BrowseFilters['lists'],
    author: text('author'),
    scoreMin: text('score_min'),
    scoreMax: text('score_max'),
    from: text('from'),
    to: text('to'),
    status: text('status'),
  }
}

export function parametersOf(filters: BrowseFilters): Record<string, string> {
  return {
    exactly: filters.exactly,
    dataset: filters.dataset,
    ...Object.fromEntries(listFilterNames.map((name) => [name, filters.lists[name].join(',')])),
    author: filters.author,
    score_min: filters.scoreMin,
    score_max: filters.scoreMax,
    from: filters.from,
    to: filters.to,
    status: filters.status,
  }
}

/** Returns the parameters of the request. The caller must leave out the empty ones. */
export function queryOf(filters: BrowseFilters): Record<string, string> {
  const { exactly, dataset, lists, author, scoreMin, scoreMax, from, to, status } = filters
  return {
    query: exactly.trim(),
    dataset_id: dataset,
    ...Object.fromEntries(listFilterNames.map((name) => [listFilters[name].parameter, lists[name].join(',')])),
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
  // An invalid day is sent unchanged, and the server says what it expects.
  if (Number.isNaN(time.getTime())) return day
  time.setUTCDate(time.getUTCDate() + 1)
  return time.toISOString().replace('.000', '')
}

/** Whether a filter that needs this permission works in at least one entry. */
export const mayUse = (permission: string | null, entitlements: readonly Entitlement[]): boolean =>
  permission === null || entitlements.some(({ fields }) => !fields || fields.includes(permission))
