import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'

export function MoreButton({ more }: { readonly more: (() => Promise<void>) | null }): ComponentChild {
  const isBusy = useSignal(false)
  if (more === null) return null
  const click = async (): Promise<void> => {
    isBusy.value = true
    await more()
    isBusy.value = false
  }
  return h(
    'button',
    { type: 'button', class: 'button small more', disabled: isBusy.value, onClick: click },
    isBusy.value ? 'Loading …' : 'Load more',
  )
}
