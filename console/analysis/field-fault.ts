import { type ComponentChild, h } from 'preact'

/** Shows the error of a field below it. */
export const FieldFault = ({
  id,
  fault,
}: {
  readonly id: string
  readonly fault: string | undefined
}): ComponentChild => h('p', { id, class: 'fault' }, fault)
