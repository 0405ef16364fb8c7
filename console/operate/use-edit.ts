import { useSignal } from '@preact/signals'
import { ApiError } from '../app/ask.ts'
import { useUnsaved } from '../app/unsaved.ts'
import { type Author, lastAuthor } from './last-author.ts'
import { readTagged, type Tagged } from './read.ts'

/** An object that is read, changed in a form, and written back whole. */
export interface Subject<Body, Fields> {
  /** The path to read it from. */
  readonly path: string
  /** Its name in the audit log. */
  readonly target: string
  readonly fieldsOf: (body: Body) => Fields
  /** Its state when the form was opened. */
  readonly first: Tagged<Body>
}

/** Others' changes during the edit. */
export interface Meanwhile<Fields> {
  readonly author: Author | null
  readonly changed: readonly { readonly name: keyof Fields & string; readonly now: unknown; readonly mine: unknown }[]
}

export interface Edit<Fields> {
  readonly fields: Fields
  /** The current state, as far as it is known. */
  readonly stands: Fields
  readonly meanwhile: Meanwhile<Fields> | null
  /** Returns the current fields, for code that runs later. */
  readonly peek: () => Fields
  readonly set: (changed: Partial<Fields>) => void
  /**
   * `write` sends the fields on condition that `tag` still matches. Throws if others changed them first, so that the
   * reader can look and save again.
   */
  readonly save: (write: (fields: Fields, stands: Fields, tag: string | null) => Promise<void>) => Promise<void>
}

/** The attributes of an input for one of the fields. */
export const typedInto = <Fields extends Named>(edit: Edit<Fields>, name: keyof Fields & string) => ({
  name,
  value: String(edit.fields[name] ?? ''),
  onInput: (event: Event) =>
    edit.set({ [name]: (event.currentTarget as HTMLInputElement).value } as unknown as Partial<Fields>),
})

/** An attempt fails only if somebody changed another part of the object. */
const attemptsMax = 5

/**
 * Edits an object that others may change at the same time. Fields that the reader left alone take others' changes;
 * fields that the reader changed stay as typed. After a conflict nothing is written before the reader has seen both
 * versions.
 */
export function useEdit<Body, Fields extends Readonly<Record<string, unknown>>>(
  subject: Subject<Body, Fields>,
): Edit<Fields> {
  const { path, target, fieldsOf } = subject
  const tag = useSignal(subject.first.tag)
  const stands = useSignal(fieldsOf(subject.first.body))
  const fields = useSignal(stands.value)
  const meanwhile = useSignal<Meanwhile<Fields> | null>(null)
  useUnsaved(differing(fields.value, stands.value).length > 0)

  /** Returns whether others changed the edited fields, and not only other parts of the object. */
  const meet = async (): Promise<boolean> => {
    const [read, author] = await Promise.all([readTagged<Body>(path), lastAuthor(target)])
    const [before, now] = [stands.value, fieldsOf(read.body)]
    const theirs = differing(before, now)
    const untouched = theirs.filter((name) => isSame(fields.value[name], before[name]))
    const brought = Object.fromEntries(untouched.map((name) => [name, now[name]]))
    tag.value = read.tag
    stands.value = now
    fields.value = { ...fields.value, ...brought }
    if (theirs.length === 0) return false
    const mine = fields.value
    meanwhile.value = { author, changed: theirs.map((name) => ({ name, now: now[name], mine: mine[name] })) }
    return true
  }

  return {
    fields: fields.value,
    stands: stands.value,
    meanwhile: meanwhile.value,
    peek: () => fields.value,
    set: (changed) => {
      fields.value = { ...fields.value, ...changed }
    },
    async save(write) {
      for (let attempt = 1; ; attempt++) {
        try {
          await write(fields.value, stands.value, tag.value)
          stands.value = fields.value
          return
        } catch (error) {
          if (!(error instanceof ApiError) || error.status !== 412 || attempt === attemptsMax) throw error
          if (await meet()) throw new Error('Not saved yet: review the changes and save again.')
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
