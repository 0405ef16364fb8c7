import { type ComponentChild, h } from 'preact'
import { account } from '../app/account.ts'
import { type BrowseFilters, listFilterNames, listFilters, mayUse } from './browse-request.ts'
import { ValueFilter } from './value-filter.ts'

export interface DocumentFiltersProps {
  readonly filters: BrowseFilters
  readonly change: (changes: Partial<BrowseFilters>) => void
}

/** The filters of a listing, without those that the application has no permission for. */
export function DocumentFilters({ filters, change }: DocumentFiltersProps): ComponentChild {
  const { dataset, lists } = filters
  const entitlements = account.value?.entitlements ?? []
  const offered = listFilterNames.filter((name) => mayUse(listFilters[name].permission, entitlements))
  return h(
    'details',
    { class: 'filters', open: innerWidth > 960 },
    h('summary', null, 'Filters'),
    h(ValueFilter, {
      title: 'Dataset',
      field: 'dataset',
      dataset: '',
      chosen: dataset === '' ? [] : [dataset],
      // A listing covers one dataset or all of them.
      choose: (values) => change({ dataset: values.at(-1) ?? '' }),
    }),
    offered.map((name) =>
      h(ValueFilter, {
        key: name,
        title: listFilters[name].title,
        field: listFilters[name].field,
        dataset,
        chosen: lists[name],
        choose: (values) => change({ lists: { ...lists, [name]: values } }),
      }),
    ),
    h(
      Span,
      { title: 'Published' },
      h(Field, { name: 'from', words: 'From', type: 'date', filters, change }),
      h(Field, { name: 'to', words: 'To', type: 'date', filters, change }),
    ),
    mayUse('metrics', entitlements)
      ? h(
          Span,
          { title: 'Score' },
          h(Field, { name: 'scoreMin', words: 'At least', type: 'number', filters, change }),
          h(Field, { name: 'scoreMax', words: 'At most', type: 'number', filters, change }),
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
          value: filters.status,
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

function Field({ name, words, type, filters, change }: FieldProps): ComponentChild {
  return h(
    'label',
    null,
    h('span', null, words),
    h('input', {
      type,
      step: type === 'number' ? 1 : undefined,
      // Uncontrolled, so that half-typed text stays while documents arrive.
      key: filters[name],
      defaultValue: filters[name],
      onChange: (event: Event) => change({ [name]: (event.currentTarget as HTMLInputElement).value }),
    }),
  )
}
