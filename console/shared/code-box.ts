import { type ComponentChild, type ComponentChildren, h } from 'preact'
import { CopyButton } from './copy-button.ts'

/** A titled box of code that can be copied. */
export function CodeBox({ title, text }: { readonly title: ComponentChildren; readonly text: string }): ComponentChild {
  return h(
    'div',
    { class: 'snippet' },
    h(
      'div',
      { class: 'snippet-bar' },
      h('span', { class: 'title' }, title),
      h(CopyButton, { text: () => text, what: 'the code' }),
    ),
    h('pre', { class: 'wrap', tabindex: 0 }, text),
  )
}
