import { type ComponentChild, type ComponentChildren, h } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

/** A question or a form in front of everything else; Escape leaves it. */
export function Dialog({
  title,
  close,
  children,
}: {
  readonly title: string
  readonly close: () => void
  readonly children?: ComponentChildren
}): ComponentChild {
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return h(
    'dialog',
    { ref: dialog, class: 'dialog', 'aria-labelledby': id, onClose: close },
    h('h2', { id, dir: 'auto' }, title),
    children,
  )
}
