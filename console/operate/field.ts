import { type ComponentChild, h } from 'preact'
import { useId } from 'preact/hooks'

export interface FieldProps {
  readonly label: string
  readonly name: string
  readonly note?: string
  /** The error in the current value. */
  readonly fault?: string | undefined
  /** A warning about a value that may still be correct. */
  readonly hint?: string | undefined
  readonly [attribute: string]: unknown
}

/** An input with a label. Other properties become attributes of the input. */
export function Field({ label, name, note, fault, hint, ...attributes }: FieldProps): ComponentChild {
  const id = useId()
  const remarks = [
    ['note', note],
    ['hint', hint],
    ['field-fault', fault],
  ].filter((one): one is [string, string] => one[1] !== undefined)
  const described =
    remarks.length === 0 ? {} : { 'aria-describedby': remarks.map(([kind]) => `${id}-${kind}`).join(' ') }
  const wrong = fault === undefined ? {} : { 'aria-invalid': 'true' }
  return h(
    'p',
    { class: 'field' },
    h('label', { for: id }, label),
    h('input', { id, name, spellcheck: false, ...described, ...wrong, ...attributes }),
    h(
      'span',
      { class: 'field-remarks' },
      remarks.map(([kind, words]) => h('span', { key: kind, class: kind, id: `${id}-${kind}` }, words)),
    ),
  )
}
