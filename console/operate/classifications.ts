import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { pathSegment } from '../shared/path-segment.ts'
import { ActButton } from './act-button.ts'
import type { Classification, Dataset } from './answers.ts'
import { ClassificationForm } from './classification-form.ts'
import { ListStatus } from './list-status.ts'
import { useRead } from './read.ts'
import { state } from './state.ts'
import { Table } from './table.ts'

/** Lists a dataset's classifications, which facts of its documents can name. */
export function Classifications({ dataset }: { readonly dataset: Dataset }): ComponentChild {
  const path = `/admin/v1/datasets/${pathSegment(dataset.dataset_id)}/classifications`
  const { body, fault, reload } = useRead<{ classifications: readonly Classification[] }>(path)
  const dialog = useSignal<{ readonly code: string | null } | null>(null)
  const found = body?.classifications ?? []
  return h(
    'section',
    { 'aria-labelledby': 'classifications' },
    h(
      'div',
      { class: 'section-head' },
      h('h2', { id: 'classifications' }, `Classifications of ${dataset.dataset_id}`),
      h(
        ActButton,
        {
          needs: 'operator',
          act: () => {
            dialog.value = { code: null }
          },
        },
        'New classification',
      ),
    ),
    h(ListStatus, { fault, isKnown: body !== null, isEmpty: found.length === 0 }, 'No classifications yet.'),
    found.length === 0
      ? null
      : h(Table<Classification>, {
          label: `Classifications of ${dataset.dataset_id}`,
          keyOf: ({ code }) => code,
          rows: found,
          columns: [
            { title: 'Code', cell: ({ code }) => h('code', null, code) },
            {
              title: 'Name',
              cell: ({ name, description }) => [
                h('span', { dir: 'auto' }, name),
                description === null ? null : h('small', { dir: 'auto' }, description),
              ],
            },
            { title: 'State', cell: ({ active }) => state(active ? 'active' : 'inactive') },
            {
              title: 'Actions',
              isTools: true,
              cell: (one) =>
                h(
                  'div',
                  { class: 'row-tools' },
                  h(
                    ActButton,
                    {
                      needs: 'operator',
                      of: one.code,
                      act: () => {
                        dialog.value = { code: one.code }
                      },
                    },
                    'Edit',
                  ),
                ),
            },
          ],
        }),
    dialog.value === null
      ? null
      : h(ClassificationForm, {
          datasetId: dataset.dataset_id,
          code: dialog.value.code,
          taken: found.map((one) => one.code),
          done: reload,
          close: () => {
            dialog.value = null
          },
        }),
  )
}
