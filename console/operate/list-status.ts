import type { ComponentChild, ComponentChildren } from 'preact'
import { h } from 'preact'

/** Shown in place of a list that is loading, failed or is empty. The children say what to do about an empty list. */
export function ListStatus({
  fault,
  isKnown,
  isEmpty,
  children,
}: {
  readonly fault: string | null
  readonly isKnown: boolean
  readonly isEmpty: boolean
  readonly children?: ComponentChildren
}): ComponentChild {
  if (fault !== null) return h('p', { class: 'notice bad', role: 'alert' }, fault)
  if (!isKnown) return h('p', { class: 'empty', role: 'status' }, 'Loading …')
  return isEmpty ? h('div', { class: 'empty' }, children) : null
}
