import { useSignal } from '@preact/signals'
import { type ComponentChild, type ComponentChildren, h } from 'preact'
import { inWords as asItIs } from '../app/ask.ts'
import { Dialog } from './dialog.ts'

export interface FormProps {
  readonly title: string
  /** The fields, or what the reader should know first. */
  readonly children?: ComponentChildren
  /** The label of the button. */
  readonly action: string
  readonly isDangerous?: boolean
  /** For a form with columns. */
  readonly isWide?: boolean
  readonly submit: (fields: FormData) => Promise<void>
  /** Words an error for this form. */
  readonly inWords?: (error: unknown) => string | null
  readonly close: () => void
}

/** A form that is sent once. It shows its errors, and closes when it succeeds. */
export function FormDialog({
  title,
  children,
  action,
  isDangerous,
  isWide = false,
  submit,
  inWords = asItIs,
  close,
}: FormProps): ComponentChild {
  const fault = useSignal<string | null>(null)
  const isBusy = useSignal(false)
  const send = async (event: Event): Promise<void> => {
    event.preventDefault()
    isBusy.value = true
    fault.value = null
    try {
      await submit(new FormData(event.currentTarget as HTMLFormElement))
      close()
    } catch (error) {
      fault.value = inWords(error)
    }
    isBusy.value = false
  }
  return h(
    Dialog,
    { title, isWide, close },
    h(
      'form',
      { onSubmit: send, autocomplete: 'off' },
      children,
      h('p', { class: 'fault', role: 'alert' }, fault.value),
      h(
        'div',
        { class: 'dialog-foot' },
        h('button', { type: 'button', class: 'button', onClick: close }, 'Cancel'),
        h(
          'button',
          { type: 'submit', class: `button ${isDangerous ? 'danger' : 'main'}`, disabled: isBusy.value },
          isBusy.value ? 'Saving …' : action,
        ),
      ),
    ),
  )
}
