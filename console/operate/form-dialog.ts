import { useSignal } from '@preact/signals'
import { type ComponentChild, type ComponentChildren, h } from 'preact'
import { inWords as defaultInWords } from '../app/call-api.ts'
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
  /** Returns an error in words, with the names of the form's fields. */
  readonly inWords?: (error: unknown) => string | null
  readonly close: () => void
}

/** A form that closes when it was sent, and shows the error if that failed. */
export function FormDialog({
  title,
  children,
  action,
  isDangerous,
  isWide = false,
  submit,
  inWords = defaultInWords,
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
