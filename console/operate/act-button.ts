import { type ComponentChild, type ComponentChildren, h } from 'preact'
import { lacks, type Role } from '../app/self.ts'

export interface ActButtonProps {
  readonly needs: Role
  readonly act: () => void
  /** What it is about, where several buttons have the same word. */
  readonly of?: string
  readonly isMain?: boolean
  readonly children?: ComponentChildren
}

/** A button that changes something. Whoever may not sees it, and why they may not. */
export function ActButton({ needs, act, of, isMain = false, children }: ActButtonProps): ComponentChild {
  const reason = lacks(needs)
  return h(
    'button',
    {
      type: 'button',
      class: `button ${isMain ? 'main' : 'small'}`,
      'aria-disabled': reason === null ? undefined : 'true',
      title: reason ?? undefined,
      onClick: reason === null ? act : undefined,
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
}
