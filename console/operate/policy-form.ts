import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { useId } from 'preact/hooks'
import type { Application } from './answers.ts'
import { Choices } from './choices.ts'
import { ConflictNotice } from './conflict-notice.ts'
import { Field } from './field.ts'
import { faultInWords, faultsOf } from './field-faults.ts'
import { FormDialog } from './form-dialog.ts'
import {
  analysisTypes,
  fieldsOfPolicy,
  type Limit,
  limitGroups,
  limitName,
  policyOfFields,
  typesPath,
} from './limits.ts'
import { patchOf } from './patch-of.ts'
import type { Tagged } from './read.ts'
import { send } from './send.ts'
import { inputAttributes, useEdit } from './use-edit.ts'

export interface PolicyFormProps {
  readonly first: Tagged<Application>
  readonly path: string
  readonly done: () => Promise<void>
  readonly close: () => void
}

/** The key of the application's name among the limits. No limit has it. */
const nameField = '.name'
type Fields = Readonly<Record<string, unknown>>

const fieldsOf = ({ name, policy }: Application): Fields => ({ [nameField]: name, ...fieldsOfPolicy(policy) })

const policyOf = ({ [nameField]: _, ...fields }: Fields): Fields => policyOfFields(fields)

const nameOf = (field: string): string => (field === nameField ? 'Name' : limitName(field))

/** Maps a path in the request, such as `policy.daily_quotas.search` or `name`, to a field. */
const fieldOf = (path: string): string | null =>
  path === 'name' ? nameField : path.startsWith('policy.') ? path.slice('policy.'.length).replace(/\.\d+$/, '') : null

export function limitInWords(field: string, value: unknown): string {
  if (value === undefined || value === '') return 'not set'
  if (field === nameField) return String(value)
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (field === typesPath) return (value as readonly string[]).map((type) => analysisTypes[type] ?? type).join(', ')
  return typeof value === 'string' ? Number(value).toLocaleString() : JSON.stringify(value)
}

/** Edits the name and the limits, as a form or as JSON. */
export function PolicyForm({ first, path, done, close }: PolicyFormProps): ComponentChild {
  const target = first.body.application_id
  const edit = useEdit<Application, Fields>({ path, target, fieldsOf, first })
  /** The policy as typed JSON; null while the form is used. */
  const json = useSignal<string | null>(null)
  const faults = useSignal<ReadonlyMap<string, string>>(new Map())
  const jsonFault = useSignal<string | null>(null)
  const id = useId()
  const textOf = (fields: Fields): string => JSON.stringify(policyOf(fields), null, 2)
  const typed = (text: string): Fields => ({
    ...Object.fromEntries(Object.keys(edit.fields).map((field) => [field, undefined])),
    [nameField]: edit.fields[nameField],
    ...fieldsOfPolicy(parsed(text)),
  })
  const save = async (): Promise<void> => {
    faults.value = new Map()
    if (json.value !== null) edit.set(typed(json.value))
    await edit.save(async (fields, current, tag) => {
      const name = String(fields[nameField]).trim()
      await send('PATCH', path, { name, policy: patchOf(policyOf(current), policyOf(fields)) }, tag)
    })
    await done()
  }
  const inWords = (error: unknown): string | null => {
    const atFields = faultsOf(error).map((one) => [fieldOf(one.path), one.message] as const)
    faults.value = new Map(atFields.filter((one): one is [string, string] => one[0] !== null))
    if (json.value !== null) json.value = textOf(edit.peek())
    return faultInWords(error, (at) => {
      const field = fieldOf(at)
      return field === null ? null : nameOf(field)
    })
  }
  const toggle = (): void => {
    jsonFault.value = null
    try {
      if (json.value !== null) edit.set(typed(json.value))
      json.value = json.value === null ? textOf(edit.fields) : null
    } catch (error) {
      jsonFault.value = (error as Error).message
    }
  }
  const text = (limit: Limit): ComponentChild =>
    h(Field, {
      key: limit.path,
      label: limitName(limit.path),
      ...inputAttributes(edit, limit.path),
      type: 'number',
      min: limit.min ?? 0,
      step: limit.isFraction ? 'any' : 1,
      ...(limit.note !== undefined && { note: limit.note }),
      fault: faults.value.get(limit.path),
    })
  const check = (limit: Limit): ComponentChild =>
    h(
      'label',
      { key: limit.path, class: 'check wide' },
      h('input', {
        type: 'checkbox',
        checked: edit.fields[limit.path] === true,
        onChange: (event: Event) => edit.set({ [limit.path]: (event.currentTarget as HTMLInputElement).checked }),
      }),
      limit.name,
    )
  const types = (edit.fields[typesPath] as readonly string[] | undefined) ?? []
  const choose = (type: string): void => {
    const chosen = types.includes(type) ? types.filter((one) => one !== type) : [...types, type]
    edit.set({ [typesPath]: chosen.length === 0 ? undefined : chosen })
  }
  return h(
    FormDialog,
    { title: 'Name and limits', action: 'Save', isWide: true, submit: save, inWords, close },
    h(ConflictNotice<Fields>, { conflict: edit.conflict, nameOf, inWords: limitInWords }),
    h(Field, {
      label: 'Name',
      required: true,
      maxLength: 200,
      fault: faults.value.get(nameField),
      ...inputAttributes(edit, nameField),
    }),
    json.value === null
      ? limitGroups.map(({ title, limits }) =>
          h(
            'fieldset',
            { key: title, class: 'limit-group' },
            h('legend', null, title),
            h(
              'div',
              { class: 'entry-lists' },
              limits.map((limit) => (limit.isSwitch === true ? check(limit) : text(limit))),
            ),
            title === 'Analysis'
              ? h(Choices, {
                  title: 'Types (only Graph if none is chosen)',
                  all: Object.keys(analysisTypes),
                  chosen: types,
                  inWords: (type) => analysisTypes[type] ?? type,
                  choose,
                })
              : null,
          ),
        )
      : h(
          'p',
          { class: 'field' },
          h('label', { for: id }, 'Policy, as JSON'),
          h('textarea', {
            id,
            class: 'code',
            rows: 12,
            spellcheck: false,
            value: json.value,
            onInput: (event: Event) => {
              json.value = (event.currentTarget as HTMLTextAreaElement).value
            },
          }),
          h(
            'span',
            { class: 'note' },
            'The fields are described in the ',
            h('a', { href: '/docs#admin.applications.update' }, 'API reference'),
            '.',
          ),
        ),
    h('p', { class: 'fault', role: 'alert' }, jsonFault.value),
    h(
      'p',
      null,
      h(
        'button',
        { type: 'button', class: 'button small', onClick: toggle },
        json.value === null ? 'Edit as JSON' : 'Edit as a form',
      ),
    ),
  )
}

function parsed(text: string): Fields {
  let policy: unknown
  try {
    policy = JSON.parse(text)
  } catch {
    throw new Error('The policy is not valid JSON. Look for a missing comma or quotation mark.')
  }
  if (typeof policy !== 'object' || policy === null || Array.isArray(policy)) {
    throw new Error('The policy must be an object, {…}.')
  }
  return policy as Fields
}
