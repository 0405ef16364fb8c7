import { useSignal } from '@preact/signals'
import { ApiError } from '../app/ask.ts'
import { useUnsaved } from '../app/unsaved.ts'
import { type Author, lastAuthor } from './last-author.ts'
import { readTagged, type Tagged } from './read.ts'

/** Something that is read, changed in a form, and written back whole. */
export interface Subject<Body, Fields> {
  /** Where it is read. */
  readonly path: string
  /** What the audit log calls it. */
  readonly target: string
  readonly fieldsOf: (body: Body) => Fields
  /** As it was when the form was opened. */
  readonly first: Tagged<Body>
}

/** What others made of it while it was edited. */
export interface Meanwhile<Fields> {
  readonly author: Author | null
  readonly changed: readonly { readonly name: keyof Fields & string; readonly now: unknown; readonly mine: unknown }[]
}

export interface Edit<Fields> {
  readonly fields: Fields
  /** As it stands, as far as it is known. */
  readonly stands: Fields
  readonly meanwhile: Meanwhile<Fields> | null
  /** The fields as they are at this moment, for what runs after them. */
  readonly peek: () => Fields
  readonly set: (changed: Partial<Fields>) => void
  /** `write` sends it on condition that it still is as `tag` names it. Throws where others were faster: look, and save again. */
  readonly save: (write: (fields: Fields, stands: Fields, tag: string | null) => Promise<void>) => Promise<void>
}

/** The attributes of an input for one of the fields. */
export const typedInto = <Fields extends Named>(edit: Edit<Fields>, name: keyof Fields & string) => ({
  name,
  value: String(edit.fields[name] ?? ''),
  onInput: (event: Event) =>
    edit.set({ [name]: (event.currentTarget as HTMLInputElement).value } as unknown as Partial<Fields>),
})

/** Each attempt fails only because somebody changed something else of it. */
const attemptsMax = 5

/**
 * A form over something that others may change at the same time. Where they did, what was left alone takes what stands
 * now, what was changed stays as it was typed, and nothing is written before somebody has looked at both.
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

  /** Whether others changed what is edited here, and not only what else there is of it. */
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

/** A field that is empty is one that is not there. */
const isSame = (one: unknown, other: unknown): boolean => textOf(one) === textOf(other)
const textOf = (value: unknown): string | undefined => (value === '' ? undefined : JSON.stringify(value))
