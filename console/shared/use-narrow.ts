import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

const narrow = matchMedia('(max-width: 60rem)')

/** Whether the page is as narrow as a phone, where the styles use one column. */
export function useNarrow(): boolean {
  const isNarrow = useSignal(narrow.matches)
  useEffect(() => {
    const changed = (): void => {
      isNarrow.value = narrow.matches
    }
    narrow.addEventListener('change', changed)
    return () => narrow.removeEventListener('change', changed)
  }, [])
  return isNarrow.value
}
