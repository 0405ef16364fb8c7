import { useLayoutEffect } from 'preact/hooks'

/** Forms with edits that leaving would lose. */
const unsaved = new Set<object>()

const question = 'You have unsaved changes. Leave anyway?'

/** Whether the reader may go from here: they are asked, where they would lose something. */
export const mayLeave = (): boolean => unsaved.size === 0 || confirm(question)

/** Asks before the reader leaves, for as long as there is something to lose. */
export function useUnsaved(isUnsaved: boolean): void {
  // With the change itself, not a frame later: by then the reader may be gone.
  useLayoutEffect(() => {
    if (!isUnsaved) return
    const form = {}
    unsaved.add(form)
    return () => {
      unsaved.delete(form)
    }
  }, [isUnsaved])
}

// The browser asks in words of its own.
addEventListener('beforeunload', (event) => {
  if (unsaved.size > 0) event.preventDefault()
})
