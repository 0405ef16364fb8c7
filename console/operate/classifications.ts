import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { ActButton } from './act-button.ts'
import type { Dataset } from './answers.ts'
import { Field } from './field.ts'
import { FormDialog } from './form-dialog.ts'
import { useRead } from './read.ts'
import { send } from './send.ts'
import { Standing } from './standing.ts'
import { state } from './state.ts'
import { Table } from './table.ts'

interface Classification {
  readonly code: string
  readonly name: string
  readonly description: string | null
  readonly label_schema: Readonly<Record<string, unknown>>
  readonly active: boolean
}

/** The classifications of a dataset: what facts of its documents can name. */
export function Classifications({ dataset }: { readonly dataset: Dataset }): ComponentChild {
  const path = `/admin/v1/datasets/${encodeURIComponent(dataset.dataset_id)}/classifications`
  const { body, fault, again } = useRead<{ classifications: readonly Classification[] }>(path)
  const asked = useSignal<Classification | 'new' | null>(null)
  const found = body?.classifications ?? []
  const before = asked.value === 'new' ? null : asked.value
  const save = async (fields: FormData): Promise<void> => {
    const code = before?.code ?? String(fields.get('code')).trim()
    const description = String(fields.get('description')).trim()
    await send('PUT', `${path}/${encodeURIComponent(code)}`, {
      name: String(fields.get('name')).trim(),
      description: description === '' ? null : description,
      label_schema: before?.label_schema ?? {},
      active: fields.get('active') !== null,
    })
    await again()
  }
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
            asked.value = 'new'
          },
        },
        'New classification',
      ),
    ),
    h(Standing, { fault, isKnown: body !== null, isEmpty: found.length === 0 }, 'It has none.'),
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
              title: 'Change',
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
                        asked.value = one
                      },
                    },
                    'Edit',
                  ),
                ),
            },
          ],
        }),
    asked.value === null
      ? null
      : h(
          FormDialog,
          {
            title: before === null ? 'New classification' : before.code,
            action: 'Save',
            submit: save,
            close: () => {
              asked.value = null
            },
          },
          before === null
            ? h(Field, {
                label: 'Code',
                name: 'code',
                required: true,
                maxLength: 128,
                note: 'As facts of documents name it.',
              })
            : null,
          h(Field, { label: 'Name', name: 'name', required: true, maxLength: 200, defaultValue: before?.name ?? '' }),
          h(Field, {
            label: 'Description',
            name: 'description',
            maxLength: 4000,
            defaultValue: before?.description ?? '',
          }),
          h(
            'label',
            { class: 'check' },
            h('input', { type: 'checkbox', name: 'active', defaultChecked: before?.active ?? true }),
            'Active: applications find it in the list',
          ),
        ),
  )
}
