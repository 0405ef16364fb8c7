import { useLayoutEffect } from 'preact/hooks'

/** Forms with edits that leaving the page would lose. */
const unsaved = new Set<object>()

const question = 'You have unsaved changes. Leave anyway?'

/** Whether the reader may leave. Asks them if they would lose edits. */
export const mayLeave = (): boolean => unsaved.size === 0 || confirm(question)

/** Asks before the reader leaves while there are unsaved edits. */
export function useUnsaved(isUnsaved: boolean): void {
  // A layout effect runs at once. A frame later the reader may have left already.
  useLayoutEffect(() => {
    if (!isUnsaved) return
    const form = {}
    unsaved.add(form)
    return () => {
      unsaved.delete(form)
    }
  }, [isUnsaved])
}

// The browser shows its own question.
addEventListener('beforeunload', (event) => {
  if (unsaved.size > 0) event.preventDefault()
})
