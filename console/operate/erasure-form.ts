import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { useId } from 'preact/hooks'
import { ConfirmDataset, requireConfirmation } from './confirm-dataset.ts'
import { DatasetChoice } from './dataset-choice.ts'
import { Field } from './field.ts'
import { FormDialog } from './form-dialog.ts'
import { send } from './send.ts'

const kinds = [
  ['ids', 'Documents by ID'],
  ['author', 'All documents of an author'],
  ['dataset', 'All documents of a dataset'],
] as const
type Kind = (typeof kinds)[number][0]

const typed = (fields: FormData, name: string): string => String(fields.get(name)).trim()

/** Returns the one selection that the API takes, as it was typed. */
function selectionOf(kind: Kind, fields: FormData): object {
  if (kind === 'dataset') return { dataset_id: typed(fields, 'dataset') }
  if (kind === 'ids') return { document_ids: [...new Set(typed(fields, 'ids').split(/[\s,]+/))] }
  return {
    author: {
      dataset_id: typed(fields, 'dataset'),
      source_platform: typed(fields, 'platform'),
      external_author_id: typed(fields, 'author'),
    },
  }
}

/** Requests an erasure. It cannot be undone, so its selection must be typed. */
export function ErasureForm({
  done,
  close,
}: {
  readonly done: () => Promise<void>
  readonly close: () => void
}): ComponentChild {
  const id = useId()
  const kind = useSignal<Kind>('ids')
  const dataset = useSignal('')
  const erase = async (fields: FormData): Promise<void> => {
    if (kind.value === 'dataset') requireConfirmation(dataset.value, fields)
    await send('POST', '/admin/v1/erasures', {
      ...selectionOf(kind.value, fields),
      keep_tombstones: fields.get('tombstones') !== null,
      purge_artifacts: fields.get('artifacts') !== null,
    })
    await done()
  }
  return h(
    FormDialog,
    { title: 'Erase documents', action: 'Erase for good', isDangerous: true, submit: erase, close },
    h(
      'p',
      { class: 'field' },
      h('label', { for: `${id}-kind` }, 'What'),
      h(
        'select',
        {
          id: `${id}-kind`,
          value: kind.value,
          onChange: (event: Event) => {
            kind.value = (event.currentTarget as HTMLSelectElement).value as Kind
          },
        },
        kinds.map(([value, words]) => h('option', { key: value, value }, words)),
      ),
    ),
    kind.value === 'ids'
      ? h(
          'p',
          { class: 'field' },
          h('label', { for: `${id}-ids` }, 'Document IDs'),
          h('textarea', { id: `${id}-ids`, name: 'ids', rows: 4, required: true, spellcheck: false }),
          h('span', { class: 'note' }, 'One per line, at most 1,000. Unknown IDs are ignored.'),
        )
      : h(DatasetChoice, {
          chosen: dataset.value,
          choose: (chosen) => {
            dataset.value = chosen
          },
        }),
    kind.value === 'dataset' && dataset.value !== ''
      ? h(ConfirmDataset, { key: dataset.value, id: dataset.value })
      : null,
    kind.value === 'author'
      ? [
          h(Field, { key: 'platform', label: 'Platform', name: 'platform', required: true, maxLength: 1000 }),
          h(Field, {
            key: 'author',
            label: 'Author ID, as sent by collectors',
            name: 'author',
            required: true,
            maxLength: 1000,
            note: 'The number of documents is shown in the list of erasures when it is done.',
          }),
        ]
      : null,
    h(
      'p',
      null,
      h(
        'label',
        { class: 'check' },
        h('input', { type: 'checkbox', name: 'tombstones', defaultChecked: true }),
        'Refuse these documents if they are sent again',
      ),
    ),
    h(
      'p',
      null,
      h(
        'label',
        { class: 'check' },
        h('input', { type: 'checkbox', name: 'artifacts' }),
        'Also delete analysis results that may contain them',
      ),
    ),
    h(
      'p',
      { class: 'note' },
      'They disappear at once. Restoring a backup over this data erases them again; only a restore into an empty folder brings them back.',
    ),
  )
}
