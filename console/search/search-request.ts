import type { Entitlement } from '../app/account.ts'

export const modes = ['keyword', 'hybrid', 'vector'] as const
export type Mode = (typeof modes)[number]

/**
 * The filters of a search by their names in addresses: the field of the request, and the facet that offers their
 * values.
 */
export const searchFilters = {
  datasets: { field: 'datasets', facet: 'dataset', title: 'Dataset', keywordOnly: false, permission: null },
  platforms: { field: 'platforms', facet: 'platform', title: 'Platform', keywordOnly: false, permission: null },
  languages: { field: 'languages', facet: 'language', title: 'Language', keywordOnly: false, permission: null },
  topics: { field: 'topics', facet: 'topics', title: 'Topic', keywordOnly: true, permission: 'metadata' },
  tags: { field: 'tags', facet: 'tags', title: 'Tag', keywordOnly: true, permission: 'metadata' },
  classifications: {
    field: 'classification_codes',
    facet: 'classifications',
    title: 'Classification',
    keywordOnly: true,
    permission: 'facts',
  },
} as const
export type SearchFilter = keyof typeof searchFilters
export const searchFilterNames = Object.keys(searchFilters) as SearchFilter[]

export const sorts = ['relevance', '-published_at', 'published_at', '-score'] as const
export type Sort = (typeof sorts)[number]

export type TimeUnit = 'day' | 'month'

/** A search, as the page's address has it. */
export interface Search {
  readonly query: string
  readonly mode: Mode
  readonly lists: Readonly<Record<SearchFilter, readonly string[]>>
  readonly from: string
  readonly to: string
  readonly sort: Sort
}

export function searchOf(address: URLSearchParams): Search {
  const text = (name: string): string => address.get(name) ?? ''
  const list = (name: string): readonly string[] => address.getAll(name).filter(Boolean)
  const time = (name: string): string => (isTime(text(name)) ? text(name) : '')
  return {
    query: text('q'),
    mode: modes.find((mode) => mode === text('mode')) ?? 'keyword',
    lists: Object.fromEntries(searchFilterNames.map((name) => [name, list(name)])) as Search['lists'],
    from: time('from'),
    to: time('to'),
    sort: sorts.find((sort) => sort === text('sort')) ?? 'relevance',
  }
}

const isTime = (text: string): boolean => /^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(Date.parse(text))

/** Returns the invalid times of the address, which `searchOf` leaves out. */
export const invalidTimesIn = (address: URLSearchParams): readonly string[] =>
  ['from', 'to'].flatMap((name) => address.get(name) ?? []).filter((text) => text !== '' && !isTime(text))

/** Returns the parameters of a search's address. Default values are left empty. */
export function parametersOf(search: Search): Record<string, string | readonly string[]> {
  const { query, mode, lists, from, to, sort } = search
  return {
    q: query,
    mode: mode === 'keyword' ? '' : mode,
    ...lists,
    from,
    to,
    sort: sort === 'relevance' ? '' : sort,
  }
}

/** A facet needs its permission in every entitlement entry. Otherwise the server would refuse the whole search. */
const mayCount = (name: SearchFilter, entitlements: readonly Entitlement[]): boolean => {
  const { permission } = searchFilters[name]
  return permission === null || entitlements.every(({ fields }) => !fields || fields.includes(permission))
}

/** Returns days if all days of the search fit into one response, and otherwise the given unit. */
export function unitFor({ from, to }: Search, unit: TimeUnit): TimeUnit {
  const ms = from === '' || to === '' ? Number.POSITIVE_INFINITY : Date.parse(to) - Date.parse(from)
  return ms < bucketsMax * 86_400_000 ? 'day' : unit
}

export interface RequestContext {
  readonly entitlements: readonly Entitlement[]
  readonly timeUnit: TimeUnit
}

/**
 * Returns the request body. The last word may be a prefix, because the reader may still be typing it. Words that match
 * nothing are corrected.
 */
export function requestOf(search: Search, { entitlements, timeUnit }: RequestContext): Record<string, unknown> {
  const { query, mode, lists, from, to, sort } = search
  const isKeyword = mode === 'keyword'
  const usable = searchFilterNames.filter((name) => isKeyword || !searchFilters[name].keywordOnly)
  const chosen = usable.filter((name) => lists[name].length > 0)
  const counted = usable.filter((name) => mayCount(name, entitlements))
  return {
    query,
    mode,
    ...Object.fromEntries(chosen.map((name) => [searchFilters[name].field, lists[name]])),
    ...(from === '' ? {} : { published_from: from }),
    ...(to === '' ? {} : { published_to: to }),
    ...(isKeyword ? { prefix: true, typo: 'auto' } : {}),
    ...(isKeyword && sort !== 'relevance' ? { sort } : {}),
    include_highlights: true,
    explain: true,
    facets: [...counted.map((name) => searchFilters[name].facet), { published_at: timeUnit }],
    facet_limit: bucketsMax,
    limit: 20,
  }
}

/** The API's maximum of values in a facet. */
export const bucketsMax = 100
