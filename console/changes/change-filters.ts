import { type ComponentChild, h } from 'preact'
import { useAnswer } from '../app/use-answer.ts'
import { type Counted, sayable } from '../shared/counted.ts'
import { FacetList } from '../shared/facet-list.ts'
import {
  type Beginning,
  beginnings,
  type EventType,
  eventTypeNames,
  eventTypes,
  type Following,
} from './changes-request.ts'

export interface ChangeFiltersProps {
  readonly following: Following
  readonly change: (changes: Partial<Following>) => void
}

/**
 * Chooses which changes to follow. Lists the datasets and platforms that the application may read and that have
 * documents.
 */
export function ChangeFilters({ following, change }: ChangeFiltersProps): ComponentChild {
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
          value: following.from,
          onChange: (event: Event) => change({ from: (event.currentTarget as HTMLSelectElement).value as Beginning }),
        },
        Object.entries(beginnings).map(([value, [words]]) => h('option', { key: value, value }, words)),
      ),
    ),
    h(FacetList, {
      title: 'Kind of event',
      counts: eventTypeNames.map((type) => ({ value: eventTypes[type], count: null })),
      chosen: following.types.map((type) => eventTypes[type]),
      choose: (chosen) =>
        change({ types: eventTypeNames.filter((type: EventType) => chosen.includes(eventTypes[type])) }),
    }),
    h(Values, {
      title: 'Dataset',
      field: 'dataset',
      chosen: following.datasets,
      choose: (datasets) => change({ datasets }),
    }),
    h(Values, {
      title: 'Platform',
      field: 'platform',
      chosen: following.platforms,
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
  const { body } = useAnswer<{ values: readonly Counted[] }>({ path: `/v1/values/${field}`, query: { limit: 100 } })
  // The number of documents says nothing about the number of events.
  const counts = sayable(body.value?.values ?? []).map(({ value }) => ({ value, count: null }))
  return h(FacetList, { title, counts, chosen, choose })
}
