import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { useId } from 'preact/hooks'
import { inWords } from '../app/call-api.ts'
import { credential, endedBecause, type Scheme } from '../app/session.ts'
import { signIn } from './check-credential.ts'

/** The form for an application key or an admin token. Says which of them a view needs. */
export function SignIn({ needs, done }: { readonly needs: Scheme | null; readonly done?: () => void }): ComponentChild {
  const id = useId()
  const typed = useSignal('')
  const fault = useSignal<string | null>(null)
  const isBusy = useSignal(false)
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    isBusy.value = true
    fault.value = null
    try {
      await signIn(typed.value.trim(), needs)
      done?.()
    } catch (error) {
      fault.value = inWords(error)
    }
    isBusy.value = false
  }
  const isAdministrator = needs === 'consumer' && credential('admin').value !== ''
  const label =
    needs === 'admin' ? 'Admin token' : needs === 'consumer' ? 'Application key' : 'Application key or admin token'
  return h(
    'section',
    { class: 'sign-in', 'aria-labelledby': `${id}-title` },
    h('h2', { id: `${id}-title` }, 'Sign in'),
    isAdministrator
      ? h(
          'p',
          { class: 'notice', role: 'status' },
          'You are signed in as an administrator. This page needs an application key. ',
          h('a', { href: '/operate/applications' }, 'Create one under Applications.'),
        )
      : null,
    endedBecause.value === '' ? null : h('p', { class: 'notice warn', role: 'alert' }, endedBecause.value),
    h(
      'form',
      { onSubmit: submit, autocomplete: 'off' },
      h('label', { for: id }, label),
      h('input', {
        id,
        type: 'password',
        autocomplete: 'off',
        spellcheck: false,
        required: true,
        placeholder: needs === 'admin' ? 'tma_…' : needs === 'consumer' ? 'tmc_…' : 'tmc_… or tma_…',
        'aria-invalid': fault.value === null ? undefined : 'true',
        'aria-describedby': `${id}-fault ${id}-note`,
        onInput: (event: Event) => {
          typed.value = (event.currentTarget as HTMLInputElement).value
        },
      }),
      h('p', { class: 'fault', id: `${id}-fault`, role: 'alert' }, fault.value),
      h(
        'button',
        { type: 'submit', class: 'button main', disabled: isBusy.value },
        isBusy.value ? 'Signing in …' : 'Sign in',
      ),
    ),
    h(
      'p',
      { class: 'note', id: `${id}-note` },
      'Kept in this tab only, sent to this server only, and forgotten when you close the tab. ',
      needs === 'admin'
        ? 'The admin token was printed when the server first started.'
        : h(
            'span',
            null,
            'A server started with sample data has printed a sign-in link; ',
            h('code', null, 'tidemark app create "My app" --dataset DATASET'),
            ' creates an application and prints its key.',
          ),
    ),
  )
}
