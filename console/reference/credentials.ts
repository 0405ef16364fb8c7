import { el, fill } from '../shared/dom.ts'

/**
 * The keys typed in, by security scheme. They live in this tab's session storage and go nowhere but into requests to
 * this host; closing the tab forgets them.
 */
const prefix = 'tidemark.key.'
const listeners = new Set<(scheme: string, value: string) => void>()

export const credentials = {
  get(scheme: string): string {
    try {
      return sessionStorage.getItem(prefix + scheme) ?? ''
    } catch {
      return ''
    }
  },
  set(scheme: string, value: string): void {
    try {
      if (value === '') sessionStorage.removeItem(prefix + scheme)
      else sessionStorage.setItem(prefix + scheme, value)
    } catch {
      // Storage may be switched off; the field itself still holds the key while the page is open.
    }
    for (const listener of listeners) listener(scheme, value)
  },
  subscribe(listener: (scheme: string, value: string) => void): void {
    listeners.add(listener)
  },
}

/** What people call a scheme, and the environment variable that code takes its credential from. */
const kinds: Readonly<Record<string, { readonly title: string; readonly variable: string }>> = {
  consumer: { title: 'Consumer key', variable: 'TIDEMARK_KEY' },
  collector: { title: 'Collector key', variable: 'TIDEMARK_COLLECTOR_KEY' },
  admin: { title: 'Admin token', variable: 'TIDEMARK_ADMIN_TOKEN' },
}

export const schemeTitle = (scheme: string): string => kinds[scheme]?.title ?? scheme
export const schemeVariable = (scheme: string): string => kinds[scheme]?.variable ?? 'TIDEMARK_KEY'

/** How a credential begins, by scheme. */
const hints = new Map<string, string>()

export function knowSchemes(schemes: Readonly<Record<string, { readonly bearerFormat?: string }>>): void {
  for (const [name, { bearerFormat = '' }] of Object.entries(schemes)) hints.set(name, bearerFormat)
}

/** A field for one key, the same value wherever it is shown. `id` must be unique on the page. */
export function keyField(scheme: string, id: string): HTMLElement {
  const input = el('input', {
    id,
    type: 'password',
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: hints.get(scheme) ?? '',
  })
  input.value = credentials.get(scheme)
  input.addEventListener('input', () => credentials.set(scheme, input.value.trim()))
  credentials.subscribe((changed, value) => {
    if (changed === scheme && document.activeElement !== input) input.value = value
  })
  return el('div', { class: 'input-row' }, el('label', { for: id }, schemeTitle(scheme)), input)
}

/** Fills the dialog for all keys and wires the button that opens it. */
export function wireKeyDialog(
  names: readonly string[],
  dialog: HTMLDialogElement,
  button: HTMLElement,
  state: HTMLElement,
): void {
  const showState = () => {
    const set = names.filter((name) => credentials.get(name) !== '').length
    state.textContent = set === 0 ? 'Set keys' : `Keys: ${set} of ${names.length}`
  }
  fill(
    dialog,
    el('h2', { id: 'key-title', class: 'dialog-title' }, 'Keys for trying things out'),
    el(
      'p',
      { class: 'dialog-note' },
      'Each surface has its own credential. Keys stay in this tab and are sent to this host only.',
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
            for (const name of names) credentials.set(name, '')
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
  credentials.subscribe(showState)
  showState()
}
