import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { useId } from 'preact/hooks'
import { inWords } from '../app/ask.ts'
import type { Application } from './answers.ts'
import { type Draft, draftOf, emptyDraft, entryOf, fieldPermissions } from './entitlement-draft.ts'
import { EntitlementEffect } from './entitlement-effect.ts'
import { send } from './send.ts'

export interface EditorProps {
  readonly application: Application
  /** Ids of all datasets that there are. */
  readonly datasets: readonly string[]
  readonly saved: () => Promise<void>
  readonly close: () => void
}

/** The entries of an application as a form, with what they would open. Nothing changes before it is saved. */
export function EntitlementEditor({ application, datasets, saved, close }: EditorProps): ComponentChild {
  const drafts = useSignal<readonly Draft[]>(
    application.entitlements.length === 0 ? [emptyDraft] : application.entitlements.map(draftOf),
  )
  const fault = useSignal<string | null>(null)
  const isBusy = useSignal(false)
  // An entry without a dataset is one that is not filled in yet: it opens nothing.
  const after = drafts.value.filter((one) => one.datasets.length > 0).map(entryOf)
  const before = application.entitlements.map(({ entitlement_id: _, ...entry }) => entry)
  const known = [...new Set([...datasets, ...drafts.value.flatMap((one) => one.datasets)])].sort()
  const set = (place: number, changed: Partial<Draft>): void => {
    drafts.value = drafts.value.map((one, i) => (i === place ? { ...one, ...changed } : one))
  }
  const save = async (event: Event): Promise<void> => {
    event.preventDefault()
    isBusy.value = true
    fault.value = null
    try {
      const path = `/admin/v1/applications/${encodeURIComponent(application.application_id)}/entitlements`
      await send('PUT', path, { entitlements: after })
      await saved()
      close()
    } catch (error) {
      fault.value = inWords(error)
    }
    isBusy.value = false
  }
  return h(
    'form',
    { class: 'editor', onSubmit: save, autocomplete: 'off' },
    drafts.value.map((draft, i) =>
      h(Entry, {
        key: i,
        draft,
        known,
        number: i + 1,
        change: (changed) => set(i, changed),
        remove: () => {
          drafts.value = drafts.value.filter((_, place) => place !== i)
        },
      }),
    ),
    h(
      'button',
      {
        type: 'button',
        class: 'button small',
        onClick: () => {
          drafts.value = [...drafts.value, emptyDraft]
        },
      },
      'Another entry',
    ),
    h(EntitlementEffect, { before, after }),
    h('p', { class: 'fault', role: 'alert' }, fault.value),
    h(
      'div',
      { class: 'dialog-foot' },
      h('button', { type: 'button', class: 'button', onClick: close }, 'Leave it'),
      h(
        'button',
        { type: 'submit', class: 'button main', disabled: isBusy.value },
        isBusy.value ? 'One moment …' : 'Save entitlements',
      ),
    ),
  )
}

interface EntryProps {
  readonly draft: Draft
  readonly known: readonly string[]
  readonly number: number
  readonly change: (changed: Partial<Draft>) => void
  readonly remove: () => void
}

const lists = [
  ['platforms', 'Platforms', 'all'],
  ['languages', 'Languages', 'all, or en, de'],
  ['regions', 'Regions', 'all'],
  ['from', 'Published from (day, UTC)', 'any time'],
  ['to', 'Published before (day, UTC)', 'any time'],
] as const

function Entry({ draft, known, number, change, remove }: EntryProps): ComponentChild {
  const id = useId()
  const toggle = (list: readonly string[], value: string): readonly string[] =>
    list.includes(value) ? list.filter((one) => one !== value) : [...list, value]
  return h(
    'fieldset',
    { class: 'entry' },
    h('legend', null, `Entry ${number}`),
    h(Choices, {
      title: 'Datasets',
      all: known,
      chosen: draft.datasets,
      choose: (value) => change({ datasets: toggle(draft.datasets, value) }),
    }),
    h(
      'div',
      { class: 'entry-lists' },
      lists.map(([name, title, placeholder]) =>
        h(
          'p',
          { key: name, class: 'field' },
          h('label', { for: `${id}-${name}` }, title),
          h('input', {
            id: `${id}-${name}`,
            value: draft[name],
            placeholder,
            spellcheck: false,
            onInput: (event: Event) => change({ [name]: (event.currentTarget as HTMLInputElement).value }),
          }),
        ),
      ),
    ),
    h(Choices, {
      title: 'Fields',
      all: fieldPermissions,
      chosen: draft.fields,
      choose: (value) => change({ fields: toggle(draft.fields, value) }),
    }),
    h('button', { type: 'button', class: 'button small', onClick: remove }, `Remove entry ${number}`),
  )
}

interface ChoicesProps {
  readonly title: string
  readonly all: readonly string[]
  readonly chosen: readonly string[]
  readonly choose: (value: string) => void
}

function Choices({ title, all, chosen, choose }: ChoicesProps): ComponentChild {
  return h(
    'fieldset',
    { class: 'choices' },
    h('legend', null, title),
    all.length === 0 ? h('p', { class: 'note' }, 'There is no dataset yet: make one first.') : null,
    all.map((value) =>
      h(
        'label',
        { key: value, class: 'check' },
        h('input', { type: 'checkbox', checked: chosen.includes(value), onChange: () => choose(value) }),
        h('span', { dir: 'auto' }, value),
      ),
    ),
  )
}
