import { useSignal } from '@preact/signals'
import { type ComponentChild, type ComponentChildren, h } from 'preact'
import { type Role, refusalFor } from '../app/self.ts'

export interface ActButtonProps {
  readonly needs: Role
  readonly act: () => void
  /** The object of the action, where several buttons have the same word. */
  readonly of?: string
  readonly isMain?: boolean
  readonly children?: ComponentChildren
}

/**
 * A button that changes something. For a reader without the role it is disabled, and screen reader, pointer and touch
 * give the reason.
 */
export function ActButton({ needs, act, of, isMain = false, children }: ActButtonProps): ComponentChild {
  const reason = refusalFor(needs)
  const isReasonShown = useSignal(false)
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
              isReasonShown.value = true
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
    h('span', { class: 'act-reason', role: 'status' }, isReasonShown.value ? reason : null),
  )
}
