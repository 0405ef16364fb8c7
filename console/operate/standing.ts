import type { ComponentChild, ComponentChildren } from 'preact'
import { h } from 'preact'

/** Shown in place of a list: that it is loading, an error, or what to do if it is empty. */
export function Standing({
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
