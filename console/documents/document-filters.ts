import { type ComponentChild, h } from 'preact'
import { account } from '../app/account.ts'
import { type Browsing, mayUse, narrowing, narrowings } from './browse-request.ts'
import { ValueFilter } from './value-filter.ts'

export interface DocumentFiltersProps {
  readonly browsing: Browsing
  readonly change: (changes: Partial<Browsing>) => void
}

/** All filters of a listing, within what the application may read. */
export function DocumentFilters({ browsing, change }: DocumentFiltersProps): ComponentChild {
  const { dataset, lists } = browsing
  const entitlements = account.value?.entitlements ?? []
  const offered = narrowings.filter((name) => mayUse(narrowing[name].permission, entitlements))
  return h(
    'details',
    { class: 'filters', open: innerWidth > 960 },
    h('summary', null, 'Filters'),
    h(ValueFilter, {
      title: 'Dataset',
      field: 'dataset',
      dataset: '',
      chosen: dataset === '' ? [] : [dataset],
      // A listing is of one dataset, or of all.
      choose: (values) => change({ dataset: values.at(-1) ?? '' }),
    }),
    offered.map((name) =>
      h(ValueFilter, {
        key: name,
        title: narrowing[name].title,
        field: narrowing[name].field,
        dataset,
        chosen: lists[name],
        choose: (values) => change({ lists: { ...lists, [name]: values } }),
      }),
    ),
    h(
      Span,
      { title: 'Published' },
      h(Field, { name: 'from', words: 'From', type: 'date', browsing, change }),
      h(Field, { name: 'to', words: 'To', type: 'date', browsing, change }),
    ),
    mayUse('metrics', entitlements)
      ? h(
          Span,
          { title: 'Score' },
          h(Field, { name: 'scoreMin', words: 'At least', type: 'number', browsing, change }),
          h(Field, { name: 'scoreMax', words: 'At most', type: 'number', browsing, change }),
        )
      : null,
    h(
      'fieldset',
      { class: 'facet' },
      h('legend', null, 'Status'),
      h(
        'select',
        {
          'aria-label': 'Status',
          value: browsing.status,
          onChange: (event: Event) => change({ status: (event.currentTarget as HTMLSelectElement).value }),
        },
        statuses.map(([value, words]) => h('option', { key: value, value }, words)),
      ),
    ),
  )
}

const statuses = [
  ['', 'Any'],
  ['active', 'Available'],
  ['unavailable', 'Unavailable'],
] as const

function Span({ title, children }: { readonly title: string; readonly children?: ComponentChild }): ComponentChild {
  return h('fieldset', { class: 'facet span' }, h('legend', null, title), children)
}

interface FieldProps extends DocumentFiltersProps {
  readonly name: 'from' | 'to' | 'scoreMin' | 'scoreMax'
  readonly words: string
  readonly type: 'date' | 'number'
}

function Field({ name, words, type, browsing, change }: FieldProps): ComponentChild {
  return h(
    'label',
    null,
    h('span', null, words),
    h('input', {
      type,
      step: type === 'number' ? 1 : undefined,
      // Half-typed text stays while documents arrive.
      key: browsing[name],
      defaultValue: browsing[name],
      onChange: (event: Event) => change({ [name]: (event.currentTarget as HTMLInputElement).value }),
    }),
  )
}
