import { type ComponentChild, h } from 'preact'
import { useApi } from '../app/use-api.ts'
import { FacetList } from '../shared/facet-list.ts'
import { type ValueCount, withoutCommas } from '../shared/value-counts.ts'
import {
  type EventType,
  eventTypeNames,
  eventTypes,
  type FeedFilters,
  type FeedStart,
  feedStarts,
} from './changes-request.ts'

export interface ChangeFiltersProps {
  readonly filters: FeedFilters
  readonly change: (changes: Partial<FeedFilters>) => void
}

/**
 * Chooses which changes to follow. Lists the datasets and platforms that the application may read and that have
 * documents.
 */
export function ChangeFilters({ filters, change }: ChangeFiltersProps): ComponentChild {
  return h(
    'details',
    { class: 'filters', open: innerWidth > 960 },
    h('summary', null, 'Filters'),
    h(
      'fieldset',
      { class: 'facet' },
      h('legend', null, 'Since'),
      h(
        'select',
        {
          'aria-label': 'Since',
          value: filters.from,
          onChange: (event: Event) => change({ from: (event.currentTarget as HTMLSelectElement).value as FeedStart }),
        },
        Object.entries(feedStarts).map(([value, [words]]) => h('option', { key: value, value }, words)),
      ),
    ),
    h(FacetList, {
      title: 'Kind of event',
      counts: eventTypeNames.map((type) => ({ value: eventTypes[type], count: null })),
      chosen: filters.types.map((type) => eventTypes[type]),
      choose: (chosen) =>
        change({ types: eventTypeNames.filter((type: EventType) => chosen.includes(eventTypes[type])) }),
    }),
    h(Values, {
      title: 'Dataset',
      field: 'dataset',
      chosen: filters.datasets,
      choose: (datasets) => change({ datasets }),
    }),
    h(Values, {
      title: 'Platform',
      field: 'platform',
      chosen: filters.platforms,
      choose: (platforms) => change({ platforms }),
    }),
  )
}

interface ValuesProps {
  readonly title: string
  readonly field: string
  readonly chosen: readonly string[]
  readonly choose: (values: readonly string[]) => void
}

function Values({ title, field, chosen, choose }: ValuesProps): ComponentChild {
  const { body } = useApi<{ values: readonly ValueCount[] }>({ path: `/v1/values/${field}`, query: { limit: 100 } })
  // The number of documents says nothing about the number of events.
  const counts = withoutCommas(body.value?.values ?? []).map(({ value }) => ({ value, count: null }))
  return h(FacetList, { title, counts, chosen, choose })
}
