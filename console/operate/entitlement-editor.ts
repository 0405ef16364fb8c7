import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { entitlementInWords } from '../account/entitlement-words.ts'
import type { Application } from './answers.ts'
import { ConflictNotice } from './conflict-notice.ts'
import { type Draft, draftOf, emptyDraft, entryOf } from './entitlement-draft.ts'
import { EntitlementEffect } from './entitlement-effect.ts'
import { EntitlementEntry, fieldNames } from './entitlement-entry.ts'
import { faultInWords, faultsOf } from './field-faults.ts'
import type { Tagged } from './read.ts'
import { send } from './send.ts'
import { useEdit } from './use-edit.ts'

export interface EditorProps {
  readonly application: Tagged<Application>
  readonly path: string
  /** The IDs of all datasets; null until they are known. */
  readonly datasets: readonly string[] | null
  readonly saved: () => Promise<void>
  readonly close: () => void
}

interface Fields extends Readonly<Record<string, unknown>> {
  readonly entries: readonly Draft[]
}

const fieldsOf = ({ entitlements }: Application): Fields => ({ entries: entitlements.map(draftOf) })

/** An entry without a dataset is not filled in yet and makes nothing readable. */
const isFilled = (draft: Draft): boolean => draft.datasets.length > 0

/**
 * Edits an application's entries and shows how many documents they would make readable. Nothing changes before the form
 * is saved.
 */
export function EntitlementEditor({ application, path, datasets, saved, close }: EditorProps): ComponentChild {
  const target = application.body.application_id
  const edit = useEdit<Application, Fields>({ path, target, fieldsOf, first: application })
  const drafts = edit.fields.entries
  /** The server's error, from counting or from saving. */
  const refused = useSignal<unknown>(null)
  const fault = useSignal<string | null>(null)
  const isBusy = useSignal(false)
  const filled = [...drafts.keys()].filter((position) => isFilled(drafts[position]!))
  const set = (entries: readonly Draft[]): void => edit.set({ entries })
  const words = (error: unknown): string | null =>
    faultInWords(error, (at) => {
      const found = entryAndFieldOf(at, filled)
      return found === null ? null : `Entry ${found.position + 1}, ${fieldNames[found.field]}`
    })
  const faultsIn = (position: number): ReadonlyMap<string, string> =>
    new Map(
      faultsOf(refused.value).flatMap(({ path: at, message }) => {
        const found = entryAndFieldOf(at, filled)
        return found?.position === position ? [[found.field, message] as const] : []
      }),
    )
  const save = async (event: Event): Promise<void> => {
    event.preventDefault()
    isBusy.value = true
    fault.value = null
    try {
      await edit.save(async ({ entries }, _, tag) => {
        await send('PUT', `${path}/entitlements`, { entitlements: entries.filter(isFilled).map(entryOf) }, tag)
      })
      await saved()
      close()
    } catch (error) {
      refused.value = error
      fault.value = words(error)
    }
    isBusy.value = false
  }
  const known = [...new Set([...(datasets ?? []), ...drafts.flatMap((one) => one.datasets)])].sort()
  const shown = drafts.length === 0 ? [emptyDraft] : drafts
  return h(
    'form',
    { class: 'editor', onSubmit: save, autocomplete: 'off' },
    h(ConflictNotice<Fields>, {
      conflict: edit.conflict,
      nameOf: () => 'Entitlements',
      inWords: (_, entries) => h(Entries, { drafts: entries as readonly Draft[] }),
    }),
    edit.conflict === null
      ? null
      : h(
          'p',
          null,
          h(
            'button',
            { type: 'button', class: 'button small', onClick: () => set(edit.current.entries) },
            'Start over from the current version',
          ),
        ),
    shown.map((draft, position) =>
      h(EntitlementEntry, {
        key: position,
        draft,
        known,
        isDataset: (id) => datasets?.includes(id) ?? true,
        faults: faultsIn(position),
        number: position + 1,
        change: (changed) => set(shown.map((one, i) => (i === position ? { ...one, ...changed } : one))),
        remove: () => set(shown.filter((_, i) => i !== position)),
      }),
    ),
    h('button', { type: 'button', class: 'button small', onClick: () => set([...shown, emptyDraft]) }, 'Add entry'),
    h(EntitlementEffect, {
      before: edit.current.entries.map(entryOf),
      after: filled.map((position) => entryOf(drafts[position]!)),
      inWords: words,
      counted: (error) => {
        refused.value = error
      },
    }),
    h('p', { class: 'fault', role: 'alert' }, fault.value),
    h(
      'div',
      { class: 'dialog-foot' },
      h('button', { type: 'button', class: 'button', onClick: close }, 'Cancel'),
      h(
        'button',
        { type: 'submit', class: 'button main', disabled: isBusy.value },
        isBusy.value ? 'Saving …' : 'Save entitlements',
      ),
    ),
  )
}

/**
 * Finds the entry and the field of a path such as `entitlements.0.languages.0`. Only filled entries were sent, so
 * `sent` maps their numbers to positions in the form.
 */
function entryAndFieldOf(
  path: string,
  sent: readonly number[],
): { readonly position: number; readonly field: keyof typeof fieldNames } | null {
  const [, number, field = ''] = /^entitlements\.(\d+)\.(\w+)/.exec(path) ?? []
  const position = sent[Number(number)]
  return position === undefined || !Object.hasOwn(fieldNames, field)
    ? null
    : { position, field: field as keyof typeof fieldNames }
}

function Entries({ drafts }: { readonly drafts: readonly Draft[] }): ComponentChild {
  const entries = drafts.filter(isFilled).map(entryOf)
  return entries.length === 0
    ? 'nothing'
    : h(
        'ol',
        { class: 'entries' },
        entries.map((entry, i) => h('li', { key: i }, inWordsOf(entry))),
      )
}

/** Returns an entry in words, without times that are still half-typed. */
function inWordsOf(entry: ReturnType<typeof entryOf>): string {
  const { published_from: from, published_to: to, ...rest } = entry
  const times = Object.entries({ published_from: from, published_to: to }).filter(
    ([, time]) => time !== undefined && !Number.isNaN(Date.parse(time)),
  )
  return entitlementInWords({ ...rest, ...Object.fromEntries(times) })
}
