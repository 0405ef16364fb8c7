import { type ComponentChild, h } from 'preact'
import { refusalFor } from '../app/self.ts'
import { pathSegment } from '../shared/path-segment.ts'
import type { Dataset } from './answers.ts'
import { ConflictNotice } from './conflict-notice.ts'
import { Editing } from './editing.ts'
import { Field } from './field.ts'
import { FormDialog } from './form-dialog.ts'
import { send } from './send.ts'
import { type Edit, inputAttributes } from './use-edit.ts'

export interface DatasetFormProps {
  /** Null creates a new one. */
  readonly id: string | null
  /** Existing IDs. A new dataset must not replace one. */
  readonly taken: readonly string[]
  readonly done: () => Promise<void>
  readonly close: () => void
}

interface Fields extends Readonly<Record<string, unknown>> {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly days: string
}

const names: Readonly<Record<string, string>> = {
  name: 'Name',
  description: 'Description',
  days: 'Retention (days)',
}

const fieldsOf = ({ dataset_id: id, name, description, retain_days: days }: Dataset): Fields => ({
  id,
  name,
  description: description ?? '',
  days: days === null ? '' : String(days),
})

const empty: Dataset = { dataset_id: '', name: '', description: null, retain_days: null, created_at: '' }

const pathOf = (id: string): string => `/admin/v1/datasets/${pathSegment(id)}`

/** Creates or changes a dataset. */
export function DatasetForm({ id, taken, done, close }: DatasetFormProps): ComponentChild {
  const mayRetain = refusalFor('owner') === null
  const save = async (edit: Edit<Fields>): Promise<void> => {
    const newId = edit.fields.id.trim()
    if (id === null && taken.includes(newId)) throw new Error(`The dataset ${newId} already exists.`)
    await edit.save(async ({ id: typed, name, description, days }, _, tag) => {
      const body = {
        name: name.trim(),
        description: description.trim() === '' ? null : description.trim(),
        ...(mayRetain && { retain_days: days === '' ? null : Number(days) }),
      }
      await send('PUT', pathOf(typed.trim()), body, tag)
    })
    await done()
  }
  const form = (edit: Edit<Fields>): ComponentChild =>
    h(
      FormDialog,
      { title: id ?? 'New dataset', action: 'Save', submit: () => save(edit), close },
      h(ConflictNotice<Fields>, {
        conflict: edit.conflict,
        nameOf: (field) => names[field] ?? field,
        inWords: (_, value) => (value === '' ? 'empty' : String(value)),
      }),
      id === null
        ? h(Field, {
            label: 'ID',
            required: true,
            maxLength: 128,
            note: 'Used in requests: letters, digits and . _ : -. It cannot be changed later.',
            ...inputAttributes(edit, 'id'),
          })
        : null,
      h(Field, { label: names.name!, required: true, maxLength: 200, ...inputAttributes(edit, 'name') }),
      h(Field, { label: names.description!, maxLength: 4000, ...inputAttributes(edit, 'description') }),
      mayRetain
        ? h(Field, {
            label: names.days!,
            type: 'number',
            min: 1,
            max: 36_500,
            note: 'Documents are erased this many days after they arrived, whatever their publication date. Leave empty to keep them forever.',
            ...inputAttributes(edit, 'days'),
          })
        : null,
    )
  return h(Editing<Dataset, Fields>, {
    path: id === null ? null : pathOf(id),
    target: id ?? '',
    fieldsOf,
    empty,
    form,
  })
}
