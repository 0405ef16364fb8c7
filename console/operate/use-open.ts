import { useSignal } from '@preact/signals'

/** The state of something that buttons open and close. */
export function useOpen(): { readonly isOpen: boolean; readonly open: () => void; readonly close: () => void } {
  const isOpen = useSignal(false)
  const set = (to: boolean) => (): void => {
    isOpen.value = to
  }
  return { isOpen: isOpen.value, open: set(true), close: set(false) }
}
