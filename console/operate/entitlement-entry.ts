import { type ComponentChild, h } from 'preact'
import { Choices } from './choices.ts'
import { type Draft, entryOf, fieldPermissions } from './entitlement-draft.ts'
import { Field } from './field.ts'
import { useUnknownValues } from './use-unknown-values.ts'

export interface EntryProps {
  readonly draft: Draft
  /** The datasets to choose from. */
  readonly known: readonly string[]
  readonly isDataset: (id: string) => boolean
  /** Errors by the field's name in the request. */
  readonly faults: ReadonlyMap<string, string>
  readonly number: number
  readonly change: (changed: Partial<Draft>) => void
  readonly remove: () => void
}

/** The form's names for the fields of a request. */
export const fieldNames = {
  datasets: 'Datasets',
  platforms: 'Platforms',
  languages: 'Languages',
  regions: 'Regions',
  published_from: 'Published from',
  published_to: 'Published before',
  fields: 'Fields',
} as const

const lists = [
  ['platforms', 'platforms', fieldNames.platforms, 'all'],
  ['languages', 'languages', fieldNames.languages, 'all, or en, de'],
  ['regions', 'regions', fieldNames.regions, 'all'],
  ['from', 'published_from', `${fieldNames.published_from} (day, UTC)`, 'any time'],
  ['to', 'published_to', `${fieldNames.published_to} (day, UTC)`, 'any time'],
] as const

/** Edits one entitlement entry. */
export function EntitlementEntry({
  draft,
  known,
  isDataset,
  faults,
  number,
  change,
  remove,
}: EntryProps): ComponentChild {
  const unknown = useUnknownValues(entryOf(draft))
  const toggle = (list: readonly string[], value: string): readonly string[] =>
    list.includes(value) ? list.filter((one) => one !== value) : [...list, value]
  return h(
    'fieldset',
    { class: 'entry' },
    h('legend', null, `Entry ${number}`),
    h(Choices, {
      title: fieldNames.datasets,
      all: known,
      chosen: draft.datasets,
      none: 'No datasets yet: create one first.',
      hint: (id) => (isDataset(id) ? null : 'does not exist'),
      choose: (value) => change({ datasets: toggle(draft.datasets, value) }),
    }),
    h('p', { class: 'field-fault' }, faults.get('datasets')),
    h(
      'div',
      { class: 'entry-lists' },
      lists.map(([name, requested, label, placeholder]) => {
        const without = unknown.get(requested) ?? []
        return h(Field, {
          key: name,
          label,
          name,
          value: draft[name],
          placeholder,
          fault: faults.get(requested),
          hint: without.length === 0 ? undefined : `Nothing in these datasets has ${without.join(', ')}.`,
          onInput: (event: Event) => change({ [name]: (event.currentTarget as HTMLInputElement).value }),
        })
      }),
    ),
    h(Choices, {
      title: fieldNames.fields,
      all: fieldPermissions,
      chosen: draft.fields,
      choose: (value) => change({ fields: toggle(draft.fields, value) }),
    }),
    h('p', { class: 'field-fault' }, faults.get('fields')),
    h('button', { type: 'button', class: 'button small', onClick: remove }, `Remove entry ${number}`),
  )
}
