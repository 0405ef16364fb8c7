import { useSignal } from '@preact/signals'
import { type ComponentChild, Fragment, h } from 'preact'
import { addressOf } from '../app/address-of.ts'
import type { ViewProps } from '../app/view-props.ts'
import { pathSegment } from '../shared/path-segment.ts'
import { ActButton } from './act-button.ts'
import type { Dataset } from './answers.ts'
import { Classifications } from './classifications.ts'
import { ConfirmDataset, requireConfirmation } from './confirm-dataset.ts'
import { DatasetForm } from './dataset-form.ts'
import { documentsOf, useDocumentCounts } from './document-counts.ts'
import { FormDialog } from './form-dialog.ts'
import { Head } from './head.ts'
import { ListStatus } from './list-status.ts'
import { useRead } from './read.ts'
import { send } from './send.ts'
import { Table } from './table.ts'
import { count, counted } from './words.ts'

type OpenDialog = { readonly what: 'create' } | { readonly what: 'edit' | 'delete'; readonly dataset: Dataset } | null

/** Lists every dataset with its number of documents and its classifications. */
export function DatasetsView({ place }: ViewProps): ComponentChild {
  const { body, fault, reload } = useRead<{ datasets: readonly Dataset[] }>('/admin/v1/datasets')
  const dialog = useSignal<OpenDialog>(null)
  const datasets = body?.datasets ?? []
  const documents = useDocumentCounts(datasets.map(({ dataset_id: id }) => id))
  const chosen = datasets.find(({ dataset_id: id }) => id === place.query.get('dataset'))
  const show = (what: OpenDialog) => (): void => {
    dialog.value = what
  }
  return h(
    Fragment,
    null,
    h(
      Head,
      { title: 'Datasets', path: '/admin/v1/datasets' },
      h(ActButton, { needs: 'operator', isMain: true, act: show({ what: 'create' }) }, 'New dataset'),
    ),
    h(
      ListStatus,
      { fault, isKnown: body !== null, isEmpty: datasets.length === 0 },
      'No datasets yet. Collectors send documents into a dataset: create one first.',
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
              cell: ({ dataset_id: id }) => {
                const found = documentsOf(documents, id)
                return found === null ? '…' : count(found)
              },
            },
            {
              title: 'Retention',
              cell: ({ retain_days: days }) => (days === null ? 'Forever' : counted(days, 'day')),
            },
            {
              title: 'Actions',
              isTools: true,
              cell: (dataset) =>
                h(
                  'div',
                  { class: 'row-tools' },
                  h(
                    ActButton,
                    { needs: 'operator', of: dataset.dataset_id, act: show({ what: 'edit', dataset }) },
                    'Edit',
                  ),
                  h(
                    ActButton,
                    { needs: 'owner', of: dataset.dataset_id, act: show({ what: 'delete', dataset }) },
                    'Delete',
                  ),
                ),
            },
          ],
        }),
    chosen === undefined ? null : h(Classifications, { key: chosen.dataset_id, dataset: chosen }),
    dialog.value === null
      ? null
      : dialog.value.what === 'delete'
        ? h(Deletion, { dataset: dialog.value.dataset, done: reload, close: show(null) })
        : h(DatasetForm, {
            id: dialog.value.what === 'edit' ? dialog.value.dataset.dataset_id : null,
            taken: datasets.map((one) => one.dataset_id),
            done: reload,
            close: show(null),
          }),
  )
}

interface DeletionProps {
  readonly dataset: Dataset
  readonly done: () => Promise<void>
  readonly close: () => void
}

function Deletion({ dataset, done, close }: DeletionProps): ComponentChild {
  const isForced = useSignal(false)
  const { dataset_id: id } = dataset
  const remove = async (fields: FormData): Promise<void> => {
    if (isForced.value) requireConfirmation(id, fields)
    await send('DELETE', `/admin/v1/datasets/${pathSegment(id)}${isForced.value ? '?force=true' : ''}`)
    await done()
  }
  return h(
    FormDialog,
    { title: `Delete ${id}`, action: 'Delete', isDangerous: true, submit: remove, close },
    h(
      'p',
      null,
      'A dataset that is still in use (documents, classifications, applications or collectors) is not deleted.',
    ),
    h(
      'label',
      { class: 'check' },
      h('input', {
        type: 'checkbox',
        checked: isForced.value,
        onChange: () => {
          isForced.value = !isForced.value
        },
      }),
      'Erase its documents and delete it anyway. This cannot be undone.',
    ),
    isForced.value ? h(ConfirmDataset, { id }) : null,
  )
}
