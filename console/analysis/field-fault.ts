import { type ComponentChild, h } from 'preact'

/** Below a field, what is wrong with it. */
export const FieldFault = ({
  id,
  fault,
}: {
  readonly id: string
  readonly fault: string | undefined
}): ComponentChild => h('p', { id, class: 'fault' }, fault)
