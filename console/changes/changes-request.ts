/** Every type of event, the interface's three first. The last two are sent only to readers that name them. */
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
export const beginnings = {
  now: ['Now', 0],
  hour: ['An hour ago', 3_600_000],
  day: ['A day ago', 86_400_000],
  earliest: ['The oldest event', null],
} as const
export type Beginning = keyof typeof beginnings

/** The filters of the feed, as the address has them. */
export interface Following {
  readonly types: readonly EventType[]
  readonly datasets: readonly string[]
  readonly platforms: readonly string[]
  readonly from: Beginning
}

export function followingOf(address: URLSearchParams): Following {
  const list = (name: string): readonly string[] => (address.get(name) ?? '').split(',').filter(Boolean)
  const named = list('types')
  return {
    types: eventTypeNames.filter((type) => named.includes(type)),
    datasets: list('datasets'),
    platforms: list('platforms'),
    from: (Object.keys(beginnings) as Beginning[]).find((one) => one === address.get('from')) ?? 'hour',
  }
}

export function parametersOf({ types, datasets, platforms, from }: Following): Record<string, string> {
  return {
    types: types.join(','),
    datasets: datasets.join(','),
    platforms: platforms.join(','),
    from: from === 'hour' ? '' : from,
  }
}

/** Returns the parameters that a cursor is bound to, and the start of a first read. An empty choice means all. */
export function queryOf({ types, datasets, platforms, from }: Following, nowMs: number): Record<string, string> {
  const [, agoMs] = beginnings[from]
  const minute = 60_000
  return {
    event_type: (types.length === 0 ? eventTypeNames : types).join(','),
    dataset_id: datasets.join(','),
    source_platform: platforms.join(','),
    ingested_from: agoMs ? new Date(Math.floor((nowMs - agoMs) / minute) * minute).toISOString() : '',
    start: from === 'now' ? 'latest' : '',
  }
}
