import { copiedForMs, copyText } from './copy-text.ts'
import { type Content, el, fill } from './dom.ts'

/** A button that copies the text returned at the moment of the click, and says whether that worked. */
function copyButton(text: () => string, what: string): HTMLButtonElement {
  const word = el('span', { 'aria-live': 'polite' }, 'Copy')
  const button = el('button', { class: 'copy', type: 'button', title: `Copy ${what}` }, word)
  let timer: ReturnType<typeof setTimeout> | undefined
  button.addEventListener('click', async () => {
    word.textContent = (await copyText(text())) ? 'Copied' : 'Select and copy'
    clearTimeout(timer)
    timer = setTimeout(() => {
      word.textContent = 'Copy'
    }, copiedForMs)
  })
  return button
}

export interface Snippet {
  readonly box: HTMLElement
  set(text: string, nodes?: Content): void
}

/** A titled box of code. `set` replaces its content with a string, or with nodes and the string to copy. */
export function snippet(title: Content, { wrap = false } = {}): Snippet {
  let source = ''
  const pre = el('pre', { class: wrap ? 'wrap' : null, tabindex: 0 })
  const box = el(
    'div',
    { class: 'snippet' },
    el(
      'div',
      { class: 'snippet-bar' },
      el('span', { class: 'title' }, title),
      copyButton(() => source, 'the code'),
    ),
    pre,
  )
  return {
    box,
    set(text, nodes: Content = text) {
      source = text
      fill(pre, nodes)
    },
  }
}
