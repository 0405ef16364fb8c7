import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { entitlementInWords } from '../account/entitlement-words.ts'
import type { Application } from './answers.ts'
import { ChangedMeanwhile } from './changed-meanwhile.ts'
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
  /** Ids of all datasets that there are; null until they are known. */
  readonly datasets: readonly string[] | null
  readonly saved: () => Promise<void>
  readonly close: () => void
}

interface Fields extends Readonly<Record<string, unknown>> {
  readonly entries: readonly Draft[]
}

const fieldsOf = ({ entitlements }: Application): Fields => ({ entries: entitlements.map(draftOf) })

// An entry without a dataset is one that is not filled in yet: it opens nothing.
const isFilled = (draft: Draft): boolean => draft.datasets.length > 0

/** The entries of an application as a form, with what they would open. Nothing changes before it is saved. */
export function EntitlementEditor({ application, path, datasets, saved, close }: EditorProps): ComponentChild {
  const target = application.body.application_id
  const edit = useEdit<Application, Fields>({ path, target, fieldsOf, first: application })
  const drafts = edit.fields.entries
  /** What the server refuses, whether it only counts or saves. */
  const refused = useSignal<unknown>(null)
  const fault = useSignal<string | null>(null)
  const isBusy = useSignal(false)
  const filled = [...drafts.keys()].filter((place) => isFilled(drafts[place]!))
  const set = (entries: readonly Draft[]): void => edit.set({ entries })
  const words = (error: unknown): string | null =>
    faultInWords(error, (at) => {
      const found = placeOf(at, filled)
      return found === null ? null : `Entry ${found.place + 1}, ${fieldNames[found.field]}`
    })
  const faultsIn = (place: number): ReadonlyMap<string, string> =>
    new Map(
      faultsOf(refused.value).flatMap(({ path: at, message }) => {
        const found = placeOf(at, filled)
        return found?.place === place ? [[found.field, message] as const] : []
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
    h(ChangedMeanwhile<Fields>, {
      meanwhile: edit.meanwhile,
      nameOf: () => 'Entitlements',
      inWords: (_, entries) => h(Entries, { drafts: entries as readonly Draft[] }),
    }),
    edit.meanwhile === null
      ? null
      : h(
          'p',
          null,
          h(
            'button',
            { type: 'button', class: 'button small', onClick: () => set(edit.stands.entries) },
            'Start over from the current version',
          ),
        ),
    shown.map((draft, place) =>
      h(EntitlementEntry, {
        key: place,
        draft,
        known,
        isDataset: (id) => datasets?.includes(id) ?? true,
        faults: faultsIn(place),
        number: place + 1,
        change: (changed) => set(shown.map((one, i) => (i === place ? { ...one, ...changed } : one))),
        remove: () => set(shown.filter((_, i) => i !== place)),
      }),
    ),
    h('button', { type: 'button', class: 'button small', onClick: () => set([...shown, emptyDraft]) }, 'Add entry'),
    h(EntitlementEffect, {
      before: edit.stands.entries.map(entryOf),
      after: filled.map((place) => entryOf(drafts[place]!)),
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

/** Which entry of the form and which of its fields `entitlements.0.languages.0` is; only those that are filled in were sent. */
function placeOf(
  path: string,
  sent: readonly number[],
): { readonly place: number; readonly field: keyof typeof fieldNames } | null {
  const [, number, field = ''] = /^entitlements\.(\d+)\.(\w+)/.exec(path) ?? []
  const place = sent[Number(number)]
  return place === undefined || !Object.hasOwn(fieldNames, field)
    ? null
    : { place, field: field as keyof typeof fieldNames }
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

/** What somebody is typing need not be a time. */
function inWordsOf(entry: ReturnType<typeof entryOf>): string {
  const { published_from: from, published_to: to, ...rest } = entry
  const times = Object.entries({ published_from: from, published_to: to }).filter(
    ([, time]) => time !== undefined && !Number.isNaN(Date.parse(time)),
  )
  return entitlementInWords({ ...rest, ...Object.fromEntries(times) })
}
