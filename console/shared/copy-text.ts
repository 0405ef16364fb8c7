/**
 * Copies a text to the clipboard. The clipboard API needs a secure origin; on plain HTTP the older command still works.
 * Returns whether the text was copied.
 */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const field = document.createElement('textarea')
    field.className = 'hidden-label'
    field.readOnly = true
    field.value = text
    document.body.append(field)
    field.select()
    const copied = document.execCommand('copy')
    field.remove()
    return copied
  }
}

/** How long a button shows the result, in milliseconds. */
export const copiedForMs = 1600
