import { type ComponentChild, h } from 'preact'
import type { Meanwhile } from './use-edit.ts'
import { moment } from './words.ts'

export interface ChangedMeanwhileProps<Fields> {
  readonly meanwhile: Meanwhile<Fields> | null
  readonly nameOf: (field: string) => string
  readonly inWords: (field: string, value: unknown) => ComponentChild
}

/** Shows others' changes to the edited object beside the reader's own. */
export function ChangedMeanwhile<Fields>({
  meanwhile,
  nameOf,
  inWords,
}: ChangedMeanwhileProps<Fields>): ComponentChild {
  if (meanwhile === null) return null
  const { author, changed } = meanwhile
  const who = author === null ? 'Someone' : author.name
  const when = author === null ? '' : ` (${moment(author.at)})`
  return h(
    'div',
    { class: 'notice warn meanwhile', role: 'status' },
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
          h('dd', null, h('span', { class: 'said' }, 'Current'), inWords(name, now)),
          h('dd', null, h('span', { class: 'said' }, 'Yours'), inWords(name, mine)),
        ),
      ),
    ),
  )
}
