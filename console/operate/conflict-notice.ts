import { type ComponentChild, h } from 'preact'
import type { Conflict } from './use-edit.ts'
import { moment } from './words.ts'

export interface ConflictNoticeProps<Fields> {
  readonly conflict: Conflict<Fields> | null
  readonly nameOf: (field: string) => string
  readonly inWords: (field: string, value: unknown) => ComponentChild
}

/** Shows others' changes since the form was opened, beside the reader's own values. */
export function ConflictNotice<Fields>({ conflict, nameOf, inWords }: ConflictNoticeProps<Fields>): ComponentChild {
  if (conflict === null) return null
  const { author, changed } = conflict
  const who = author === null ? 'Someone' : author.name
  const when = author === null ? '' : ` (${moment(author.at)})`
  return h(
    'div',
    { class: 'notice warn conflict', role: 'status' },
    h(
      'p',
      null,
      h('strong', { dir: 'auto' }, who),
      ` changed this while you were editing${when}. Your edits are kept; fields you did not touch now show their changes.`,
    ),
    h(
      'dl',
      null,
      changed.map(({ name, now, mine }) =>
        h(
          'div',
          { key: name },
          h('dt', null, nameOf(name)),
          h('dd', null, h('span', { class: 'caption' }, 'Current'), inWords(name, now)),
          h('dd', null, h('span', { class: 'caption' }, 'Yours'), inWords(name, mine)),
        ),
      ),
    ),
  )
}
