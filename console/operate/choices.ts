import { type ComponentChild, h } from 'preact'

export interface ChoicesProps {
  readonly title: string
  readonly all: readonly string[]
  readonly chosen: readonly string[]
  readonly choose: (value: string) => void
  readonly inWords?: (value: string) => string
  /** A remark beside a value. */
  readonly hint?: (value: string) => string | null
  /** Shown if there is nothing to choose. */
  readonly none?: string
}

/** Chooses any of a few values, each with a checkbox. */
export function Choices({ title, all, chosen, choose, inWords, hint, none }: ChoicesProps): ComponentChild {
  return h(
    'fieldset',
    { class: 'choices' },
    h('legend', null, title),
    all.length === 0 ? h('p', { class: 'note' }, none) : null,
    all.map((value) => {
      const hinted = hint?.(value) ?? null
      return h(
        'label',
        { key: value, class: 'check' },
        h('input', { type: 'checkbox', checked: chosen.includes(value), onChange: () => choose(value) }),
        h('span', { dir: 'auto' }, inWords?.(value) ?? value),
        hinted === null ? null : h('span', { class: 'hint' }, hinted),
      )
    }),
  )
}
