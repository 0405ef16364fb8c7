import { useSignal } from '@preact/signals'
import { type ComponentChild, type ComponentChildren, h } from 'preact'
import { useEffect } from 'preact/hooks'
import { copiedForMs, copyText } from './copy-text.ts'

export interface CopyButtonProps {
  /** Returns the text to copy, at the moment of the click. */
  readonly text: () => string
  /** A name for that text, such as "the cursor". */
  readonly what: string
  readonly class?: string
  readonly children?: ComponentChildren
}

/** A button that copies a text and says whether that worked. */
export function CopyButton({ text, what, class: name = 'copy', children = 'Copy' }: CopyButtonProps): ComponentChild {
  const result = useSignal<string | null>(null)
  useEffect(() => {
    if (result.value === null) return
    const timer = setTimeout(() => {
      result.value = null
    }, copiedForMs)
    return () => clearTimeout(timer)
  }, [result.value])
  const copy = async (): Promise<void> => {
    result.value = (await copyText(text())) ? 'Copied' : 'Select and copy'
  }
  return h(
    'button',
    { type: 'button', class: name, title: `Copy ${what}`, onClick: copy },
    h('span', { 'aria-live': 'polite' }, result.value ?? children),
  )
}
