import { type ComponentChild, type ComponentChildren, h } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

/** Shows a question or a form above the page. Escape closes it, unless it `stays`. */
export function Dialog({
  title,
  stays = false,
  isWide = false,
  close,
  children,
}: {
  readonly title: string
  readonly stays?: boolean
  readonly isWide?: boolean
  readonly close: () => void
  readonly children?: ComponentChildren
}): ComponentChild {
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  const show = (): void => dialog.current?.showModal()
  useEffect(show, [])
  return h(
    'dialog',
    {
      ref: dialog,
      class: `dialog ${isWide ? 'wide' : ''}`,
      'aria-labelledby': id,
      closedby: stays ? 'none' : undefined,
      // Not every browser supports `closedby`.
      onClose: stays ? show : close,
    },
    h('h2', { id, dir: 'auto' }, title),
    children,
  )
}
