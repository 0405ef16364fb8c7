import { type ComponentChild, h } from 'preact'
import type { Meanwhile } from './use-edit.ts'
import { moment } from './words.ts'

export interface ChangedMeanwhileProps<Fields> {
  readonly meanwhile: Meanwhile<Fields> | null
  readonly nameOf: (field: string) => string
  readonly inWords: (field: string, value: unknown) => ComponentChild
}

/** What others made of something while it was edited here, beside what is being written. */
export function ChangedMeanwhile<Fields>({
  meanwhile,
  nameOf,
  inWords,
}: ChangedMeanwhileProps<Fields>): ComponentChild {
  if (meanwhile === null) return null
  const { author, changed } = meanwhile
  const who = author === null ? 'Somebody' : author.name
  const when = author === null ? '' : ` (${moment(author.at)})`
  return h(
    'div',
    { class: 'notice warn meanwhile', role: 'status' },
    h(
      'p',
      null,
      h('strong', { dir: 'auto' }, who),
      ` changed this while you were editing${when}. Nothing of yours is lost. What you had left alone now is as they made it.`,
    ),
    h(
      'dl',
      null,
      changed.map(({ name, now, mine }) =>
        h(
          'div',
          { key: name },
          h('dt', null, nameOf(name)),
          h('dd', null, h('span', { class: 'said' }, 'Stands now'), inWords(name, now)),
          h('dd', null, h('span', { class: 'said' }, 'You write'), inWords(name, mine)),
        ),
      ),
    ),
  )
}
