import { useSignal } from '@preact/signals'

/** Whether something is open that is opened and closed by buttons. */
export function useOpen(): { readonly isOpen: boolean; readonly open: () => void; readonly close: () => void } {
  const isOpen = useSignal(false)
  const set = (to: boolean) => (): void => {
    isOpen.value = to
  }
  return { isOpen: isOpen.value, open: set(true), close: set(false) }
}
