import { useSignal } from '@preact/signals'
import { type ComponentChild, Fragment, h } from 'preact'
import { useEffect } from 'preact/hooks'
import { addressOf } from '../app/address-of.ts'
import { ask } from '../app/ask.ts'
import { lacks } from '../app/self.ts'
import type { ViewProps } from '../app/view-props.ts'
import { ActButton } from './act-button.ts'
import type { Dataset, EntitlementCount } from './answers.ts'
import { Classifications } from './classifications.ts'
import { Field } from './field.ts'
import { FormDialog } from './form-dialog.ts'
import { Head } from './head.ts'
import { useRead } from './read.ts'
import { send } from './send.ts'
import { Standing } from './standing.ts'
import { Table } from './table.ts'
import { count, counted } from './words.ts'

type Asked = { readonly what: 'make' } | { readonly what: 'edit' | 'delete'; readonly dataset: Dataset } | null

/** What there is to read: every dataset with how many documents it has, and its classifications. */
export function DatasetsView({ place }: ViewProps): ComponentChild {
  const { body, fault, again } = useRead<{ datasets: readonly Dataset[] }>('/admin/v1/datasets')
  const asked = useSignal<Asked>(null)
  const datasets = body?.datasets ?? []
  const documents = useDocuments(datasets.map(({ dataset_id: id }) => id))
  const chosen = datasets.find(({ dataset_id: id }) => id === place.query.get('dataset'))
  const ask = (what: Asked) => (): void => {
    asked.value = what
  }
  return h(
    Fragment,
    null,
    h(
      Head,
      { title: 'Datasets', path: '/admin/v1/datasets' },
      h(ActButton, { needs: 'operator', isMain: true, act: ask({ what: 'make' }) }, 'New dataset'),
    ),
    h(
      Standing,
      { fault, isKnown: body !== null, isEmpty: datasets.length === 0 },
      'There is no dataset yet. Collectors send documents into one: make it first.',
    ),
    datasets.length === 0
      ? null
      : h(Table<Dataset>, {
          label: 'Datasets',
          keyOf: ({ dataset_id: id }) => id,
          rows: datasets,
          columns: [
            {
              title: 'Dataset',
              cell: ({ dataset_id: id, name, description }) => [
                h('a', { href: addressOf('/operate/datasets', { dataset: id }) }, id),
                h(
                  'small',
                  { dir: 'auto' },
                  description === null || description === '' ? name : `${name}. ${description}`,
                ),
              ],
            },
            {
              title: 'Documents',
              isNumber: true,
              cell: ({ dataset_id: id }) => (documents === null ? '…' : count(documents.get(id) ?? 0)),
            },
            {
              title: 'Kept',
              cell: ({ retain_days: days }) => (days === null ? 'for ever' : `for ${counted(days, 'day')}`),
            },
            {
              title: 'Change',
              cell: (dataset) =>
                h(
                  'div',
                  { class: 'row-tools' },
                  h(
                    ActButton,
                    { needs: 'operator', of: dataset.dataset_id, act: ask({ what: 'edit', dataset }) },
                    'Edit',
                  ),
                  h(
                    ActButton,
                    { needs: 'owner', of: dataset.dataset_id, act: ask({ what: 'delete', dataset }) },
                    'Delete',
                  ),
                ),
            },
          ],
        }),
    chosen === undefined ? null : h(Classifications, { key: chosen.dataset_id, dataset: chosen }),
    asked.value === null
      ? null
      : h(Question, { key: JSON.stringify(asked.value), asked: asked.value, done: again, close: ask(null) }),
  )
}

/** By dataset, as the search index has them; null until it has said so. */
function useDocuments(ids: readonly string[]): ReadonlyMap<string, number> | null {
  const found = useSignal<ReadonlyMap<string, number> | null>(null)
  const all = ids.join('\n')
  useEffect(() => {
    if (ids.length === 0) return
    const leaving = new AbortController()
    const body = { entitlements: [{ datasets: ids.slice(0, 1000) }] }
    const asked = { as: 'admin', body, repeatable: true, signal: leaving.signal } as const
    // Without it the list still says the rest, and the overview why the index does not answer.
    ask<EntitlementCount>('POST', '/admin/v1/entitlements/count', asked).then(
      (count) => {
        found.value = new Map(count.datasets.map((one) => [one.dataset_id, one.documents]))
      },
      () => {},
    )
    return () => leaving.abort()
  }, [all])
  return found.value
}

interface QuestionProps {
  readonly asked: NonNullable<Asked>
  readonly done: () => Promise<void>
  readonly close: () => void
}

function Question({ asked, done, close }: QuestionProps): ComponentChild {
  if (asked.what === 'delete') return h(Deletion, { dataset: asked.dataset, done, close })
  const before = asked.what === 'edit' ? asked.dataset : null
  const mayRetain = lacks('owner') === null
  const save = async (fields: FormData): Promise<void> => {
    const id = before?.dataset_id ?? String(fields.get('id')).trim()
    const [description, days] = [String(fields.get('description')).trim(), String(fields.get('days') ?? '')]
    await send('PUT', `/admin/v1/datasets/${encodeURIComponent(id)}`, {
      name: String(fields.get('name')).trim(),
      description: description === '' ? null : description,
      ...(mayRetain && { retain_days: days === '' ? null : Number(days) }),
    })
    await done()
  }
  return h(
    FormDialog,
    { title: before === null ? 'New dataset' : before.dataset_id, action: 'Save', submit: save, close },
    before === null
      ? h(Field, {
          label: 'Id',
          name: 'id',
          required: true,
          maxLength: 128,
          note: 'As collectors and readers name it: letters, digits and . _ : -. It cannot be changed.',
        })
      : null,
    h(Field, { label: 'Name', name: 'name', required: true, maxLength: 200, defaultValue: before?.name ?? '' }),
    h(Field, { label: 'Description', name: 'description', maxLength: 4000, defaultValue: before?.description ?? '' }),
    mayRetain
      ? h(Field, {
          label: 'Days that documents are kept',
          name: 'days',
          type: 'number',
          min: 1,
          max: 36_500,
          defaultValue: before?.retain_days ?? '',
          note: 'Older ones are erased. For ever when this is empty.',
        })
      : null,
  )
}

interface DeletionProps {
  readonly dataset: Dataset
  readonly done: () => Promise<void>
  readonly close: () => void
}

function Deletion({ dataset, done, close }: DeletionProps): ComponentChild {
  const remove = async (fields: FormData): Promise<void> => {
    const force = fields.get('force') === null ? '' : '?force=true'
    await send('DELETE', `/admin/v1/datasets/${encodeURIComponent(dataset.dataset_id)}${force}`)
    await done()
  }
  return h(
    FormDialog,
    { title: `Delete ${dataset.dataset_id}`, action: 'Delete', isDangerous: true, submit: remove, close },
    h('p', null, 'One that has documents or classifications, or that applications or collectors name, stays.'),
    h(
      'label',
      { class: 'check' },
      h('input', { type: 'checkbox', name: 'force' }),
      'Erase its documents and delete it all the same; this cannot be undone',
    ),
  )
}
