import { type ComponentChild, h } from 'preact'
import { useId } from 'preact/hooks'

export interface FieldProps {
  readonly label: string
  readonly name: string
  readonly note?: string
  readonly [attribute: string]: unknown
}

/** A labelled field; what else it is given are attributes of the input. */
export function Field({ label, name, note, ...attributes }: FieldProps): ComponentChild {
  const id = useId()
  const described = note === undefined ? {} : { 'aria-describedby': `${id}-note` }
  return h(
    'p',
    { class: 'field' },
    h('label', { for: id }, label),
    h('input', { id, name, spellcheck: false, ...described, ...attributes }),
    note === undefined ? null : h('span', { class: 'note', id: `${id}-note` }, note),
  )
}
