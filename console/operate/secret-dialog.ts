import { type ComponentChild, h } from 'preact'
import { CopyButton } from '../shared/copy-button.ts'
import { Dialog } from './dialog.ts'

/** Shows a new secret. Only its button closes the dialog, because the secret cannot be shown again. */
export function SecretDialog({
  title,
  secret,
  note,
  close,
}: {
  readonly title: string
  readonly secret: string
  readonly note?: string
  readonly close: () => void
}): ComponentChild {
  return h(
    Dialog,
    { title, stays: true, close },
    h('p', null, 'Copy it now. It is not shown again; only a hash is stored.'),
    note === undefined ? null : h('p', null, note),
    h(
      'p',
      { class: 'secret' },
      h('code', { tabindex: 0 }, secret),
      h(CopyButton, { text: () => secret, what: 'the secret', class: 'button small' }),
    ),
    h('div', { class: 'dialog-foot' }, h('button', { type: 'button', class: 'button main', onClick: close }, 'Done')),
  )
}
