import { type ComponentChild, h } from 'preact'
import { pathSegment } from '../shared/path-segment.ts'
import type { Classification } from './answers.ts'
import { ConflictNotice } from './conflict-notice.ts'
import { Editing } from './editing.ts'
import { Field } from './field.ts'
import { FormDialog } from './form-dialog.ts'
import { send } from './send.ts'
import { type Edit, inputAttributes } from './use-edit.ts'

export interface ClassificationFormProps {
  readonly datasetId: string
  /** Null creates a new one. */
  readonly code: string | null
  /** Existing codes. A new classification must not replace one. */
  readonly taken: readonly string[]
  readonly done: () => Promise<void>
  readonly close: () => void
}

interface Fields extends Readonly<Record<string, unknown>> {
  readonly code: string
  readonly name: string
  readonly description: string
  readonly labels: Classification['label_schema']
  readonly active: boolean
}

const names: Readonly<Record<string, string>> = {
  name: 'Name',
  description: 'Description',
  labels: 'Schema of its labels',
  active: 'Active',
}

const fieldsOf = ({ code, name, description, label_schema: labels, active }: Classification): Fields => ({
  code,
  name,
  description: description ?? '',
  labels,
  active,
})

const empty: Classification = { code: '', name: '', description: null, label_schema: {}, active: true }

/** Creates or changes a classification of a dataset. */
export function ClassificationForm({ datasetId, code, taken, done, close }: ClassificationFormProps): ComponentChild {
  const all = `/admin/v1/datasets/${pathSegment(datasetId)}/classifications`
  const pathOf = (one: string): string => `${all}/${pathSegment(one)}`
  const save = async (edit: Edit<Fields>): Promise<void> => {
    const newCode = edit.fields.code.trim()
    if (code === null && taken.includes(newCode)) throw new Error(`The classification ${newCode} already exists.`)
    await edit.save(async ({ code: typed, name, description, labels, active }, _, tag) => {
      const body = {
        name: name.trim(),
        description: description.trim() === '' ? null : description.trim(),
        label_schema: labels,
        active,
      }
      await send('PUT', pathOf(typed.trim()), body, tag)
    })
    await done()
  }
  const form = (edit: Edit<Fields>): ComponentChild =>
    h(
      FormDialog,
      { title: code ?? 'New classification', action: 'Save', submit: () => save(edit), close },
      h(ConflictNotice<Fields>, {
        conflict: edit.conflict,
        nameOf: (field) => names[field] ?? field,
        inWords: (_, value) =>
          typeof value === 'boolean'
            ? value
              ? 'yes'
              : 'no'
            : typeof value === 'string'
              ? value
              : JSON.stringify(value),
      }),
      code === null
        ? h(Field, {
            label: 'Code',
            required: true,
            maxLength: 128,
            note: 'The name that facts of documents use.',
            ...inputAttributes(edit, 'code'),
          })
        : null,
      h(Field, { label: names.name!, required: true, maxLength: 200, ...inputAttributes(edit, 'name') }),
      h(Field, { label: names.description!, maxLength: 4000, ...inputAttributes(edit, 'description') }),
      h(
        'label',
        { class: 'check' },
        h('input', {
          type: 'checkbox',
          checked: edit.fields.active,
          onChange: (event: Event) => edit.set({ active: (event.currentTarget as HTMLInputElement).checked }),
        }),
        'Active: applications find it in the list',
      ),
    )
  return h(Editing<Classification, Fields>, {
    path: code === null ? null : pathOf(code),
    target: `${datasetId}/${code}`,
    fieldsOf,
    empty,
    form,
  })
}
