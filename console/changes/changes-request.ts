/** Every type of event. The last two are sent only to readers that name them. */
export const eventTypes = {
  'document.created': 'New document',
  'document.version.created': 'New version',
  'document.metrics.updated': 'Metrics',
  'document.updated': 'Other fields',
  'document.erased': 'Erased',
} as const
export type EventType = keyof typeof eventTypes
export const eventTypeNames = Object.keys(eventTypes) as EventType[]

/** Where reading starts, in words, and how long ago that is. */
export const feedStarts = {
  now: ['Now', 0],
  hour: ['An hour ago', 3_600_000],
  day: ['A day ago', 86_400_000],
  earliest: ['The oldest event', null],
} as const
export type FeedStart = keyof typeof feedStarts

/** The filters of the feed, as the page's address has them. */
export interface FeedFilters {
  readonly types: readonly EventType[]
  readonly datasets: readonly string[]
  readonly platforms: readonly string[]
  readonly from: FeedStart
}

export function feedFiltersOf(address: URLSearchParams): FeedFilters {
  const list = (name: string): readonly string[] => (address.get(name) ?? '').split(',').filter(Boolean)
  const named = list('types')
  return {
    types: eventTypeNames.filter((type) => named.includes(type)),
    datasets: list('datasets'),
    platforms: list('platforms'),
    from: (Object.keys(feedStarts) as FeedStart[]).find((one) => one === address.get('from')) ?? 'hour',
  }
}

export function parametersOf({ types, datasets, platforms, from }: FeedFilters): Record<string, string> {
  return {
    types: types.join(','),
    datasets: datasets.join(','),
    platforms: platforms.join(','),
    from: from === 'hour' ? '' : from,
  }
}

/** Returns the parameters to which a cursor is bound, and the start of the first read. An empty list selects all. */
export function queryOf({ types, datasets, platforms, from }: FeedFilters, nowMs: number): Record<string, string> {
  const [, agoMs] = feedStarts[from]
  const minute = 60_000
  return {
    event_type: (types.length === 0 ? eventTypeNames : types).join(','),
    dataset_id: datasets.join(','),
    source_platform: platforms.join(','),
    ingested_from: agoMs ? new Date(Math.floor((nowMs - agoMs) / minute) * minute).toISOString() : '',
    start: from === 'now' ? 'latest' : '',
  }
}
