import { useSignal } from '@preact/signals'
import { ApiError } from '../app/call-api.ts'
import { useUnsaved } from '../app/unsaved.ts'
import { type Author, lastAuthor } from './last-author.ts'
import { readTagged, type Tagged } from './read.ts'

/** An object that is read, changed in a form, and written back whole. */
export interface Subject<Body, Fields> {
  /** The path of the object. */
  readonly path: string
  /** Its name in the audit log. */
  readonly target: string
  readonly fieldsOf: (body: Body) => Fields
  /** Its state when the form was opened. */
  readonly first: Tagged<Body>
}

/** Changes by others since the form was opened, and the author of the last one. */
export interface Conflict<Fields> {
  readonly author: Author | null
  readonly changed: readonly { readonly name: keyof Fields & string; readonly now: unknown; readonly mine: unknown }[]
}

export interface Edit<Fields> {
  readonly fields: Fields
  /** The server's state, as last read. */
  readonly current: Fields
  readonly conflict: Conflict<Fields> | null
  /** Returns the current fields, for code that runs later. */
  readonly peek: () => Fields
  readonly set: (changed: Partial<Fields>) => void
  /**
   * `write` sends the fields with `tag` as a condition. Throws if others changed the fields first, so that the reader
   * can review the changes and save again.
   */
  readonly save: (write: (fields: Fields, current: Fields, tag: string | null) => Promise<void>) => Promise<void>
}

/** The attributes of an input for one of the fields. */
export const inputAttributes = <Fields extends Named>(edit: Edit<Fields>, name: keyof Fields & string) => ({
  name,
  value: String(edit.fields[name] ?? ''),
  onInput: (event: Event) =>
    edit.set({ [name]: (event.currentTarget as HTMLInputElement).value } as unknown as Partial<Fields>),
})

/** Saving is tried again only if others changed another part of the object. */
const attemptsMax = 5

/**
 * Edits an object that others may change at the same time, with a three-way merge. Fields that the reader did not touch
 * take others' changes; fields that the reader changed stay as typed. After a conflict nothing is written before the
 * reader has seen both versions.
 */
export function useEdit<Body, Fields extends Readonly<Record<string, unknown>>>(
  subject: Subject<Body, Fields>,
): Edit<Fields> {
  const { path, target, fieldsOf } = subject
  const tag = useSignal(subject.first.tag)
  const current = useSignal(fieldsOf(subject.first.body))
  const fields = useSignal(current.value)
  const conflict = useSignal<Conflict<Fields> | null>(null)
  useUnsaved(differing(fields.value, current.value).length > 0)

  /**
   * Merges the server's state. Returns whether others changed fields of the form, and not only the rest of the object.
   */
  const merge = async (): Promise<boolean> => {
    const [read, author] = await Promise.all([readTagged<Body>(path), lastAuthor(target)])
    const [before, now] = [current.value, fieldsOf(read.body)]
    const theirs = differing(before, now)
    const untouched = theirs.filter((name) => isSame(fields.value[name], before[name]))
    const adopted = Object.fromEntries(untouched.map((name) => [name, now[name]]))
    tag.value = read.tag
    current.value = now
    fields.value = { ...fields.value, ...adopted }
    if (theirs.length === 0) return false
    const mine = fields.value
    conflict.value = { author, changed: theirs.map((name) => ({ name, now: now[name], mine: mine[name] })) }
    return true
  }

  return {
    fields: fields.value,
    current: current.value,
    conflict: conflict.value,
    peek: () => fields.value,
    set: (changed) => {
      fields.value = { ...fields.value, ...changed }
    },
    async save(write) {
      for (let attempt = 1; ; attempt++) {
        try {
          await write(fields.value, current.value, tag.value)
          current.value = fields.value
          return
        } catch (error) {
          if (!(error instanceof ApiError) || error.status !== 412 || attempt === attemptsMax) throw error
          if (await merge()) throw new Error('Not saved yet: review the changes and save again.')
        }
      }
    },
  }
}

type Named = Readonly<Record<string, unknown>>

const differing = (one: Named, other: Named): readonly string[] =>
  [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((name) => !isSame(one[name], other[name]))

/** An empty field equals an absent one. */
const isSame = (one: unknown, other: unknown): boolean => textOf(one) === textOf(other)
const textOf = (value: unknown): string | undefined => (value === '' ? undefined : JSON.stringify(value))
