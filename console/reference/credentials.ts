import { effect } from '@preact/signals'
import { credential } from '../app/session.ts'
import { el, fill } from '../shared/dom.ts'

/** The title of each scheme, and the environment variable that code takes its credential from. */
const kinds: Readonly<Record<string, { readonly title: string; readonly variable: string }>> = {
  consumer: { title: 'Application key', variable: 'TIDEMARK_KEY' },
  collector: { title: 'Collector key', variable: 'TIDEMARK_COLLECTOR_KEY' },
  admin: { title: 'Admin token', variable: 'TIDEMARK_ADMIN_TOKEN' },
}

export const schemeTitle = (scheme: string): string => kinds[scheme]?.title ?? scheme
export const schemeVariable = (scheme: string): string => kinds[scheme]?.variable ?? 'TIDEMARK_KEY'

/** The prefix of credentials, by scheme. */
const hints = new Map<string, string>()

export function registerSchemes(schemes: Readonly<Record<string, { readonly bearerFormat?: string }>>): void {
  for (const [name, { bearerFormat = '' }] of Object.entries(schemes)) hints.set(name, bearerFormat)
}

/** Returns a field for one key. All fields of a scheme share their value. `id` must be unique on the page. */
export function keyField(scheme: string, id: string): HTMLElement {
  const input = el('input', {
    id,
    type: 'password',
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: hints.get(scheme) ?? '',
  })
  input.addEventListener('input', () => {
    credential(scheme).value = input.value.trim()
  })
  credential(scheme).subscribe((value) => {
    if (document.activeElement !== input) input.value = value
  })
  return el('div', { class: 'input-row' }, el('label', { for: id }, schemeTitle(scheme)), input)
}

/** Fills the dialog for all keys and wires the button that opens it. */
export function wireKeyDialog(
  names: readonly string[],
  dialog: HTMLDialogElement,
  button: HTMLElement,
  state: HTMLElement,
  signal: AbortSignal,
): void {
  const showState = () => {
    const set = names.filter((name) => credential(name).value !== '').length
    state.textContent = set === 0 ? 'Set keys' : `Keys set: ${set} of ${names.length}`
  }
  fill(
    dialog,
    el('h2', { id: 'key-title', class: 'dialog-title' }, 'Keys for “Try it”'),
    el(
      'p',
      { class: 'dialog-note' },
      'Each part of the API has its own credential. Keys stay in this tab and are sent only to this server.',
    ),
    names.map((name) => keyField(name, `dialog-key-${name}`)),
    el(
      'div',
      { class: 'dialog-actions' },
      el(
        'button',
        {
          type: 'button',
          class: 'button',
          click: () => {
            for (const name of names) credential(name).value = ''
          },
        },
        'Forget all',
      ),
      el('button', { type: 'button', class: 'button main', click: () => dialog.close() }, 'Done'),
    ),
  )
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close()
  })
  button.addEventListener('click', () => dialog.showModal())
  signal.addEventListener('abort', effect(showState))
}
