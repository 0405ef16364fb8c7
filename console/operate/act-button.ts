import { useSignal } from '@preact/signals'
import { type ComponentChild, type ComponentChildren, h } from 'preact'
import { lacks, type Role } from '../app/self.ts'

export interface ActButtonProps {
  readonly needs: Role
  readonly act: () => void
  /** The object of the action, where several buttons have the same word. */
  readonly of?: string
  readonly isMain?: boolean
  readonly children?: ComponentChildren
}

/**
 * A button that changes something. A reader who may not use it sees it, and learns why by screen reader, pointer or
 * touch.
 */
export function ActButton({ needs, act, of, isMain = false, children }: ActButtonProps): ComponentChild {
  const reason = lacks(needs)
  const isTold = useSignal(false)
  const button = h(
    'button',
    {
      type: 'button',
      class: `button ${isMain ? 'main' : 'small'}`,
      'aria-disabled': reason === null ? undefined : 'true',
      title: reason ?? undefined,
      onClick:
        reason === null
          ? act
          : () => {
              isTold.value = true
            },
    },
    children,
    of === undefined && reason === null
      ? null
      : h(
          'span',
          { class: 'hidden-label' },
          `${of === undefined ? '' : ` ${of}`}${reason === null ? '' : `. ${reason}`}`,
        ),
  )
  if (reason === null) return button
  return h(
    'span',
    { class: 'act' },
    button,
    h('span', { class: 'act-reason', role: 'status' }, isTold.value ? reason : null),
  )
}
