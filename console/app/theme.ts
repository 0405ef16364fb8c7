import { signal } from '@preact/signals'

/** The system's theme, or the reader's choice, which is stored. apply-theme.ts sets it before the page is drawn. */
const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const key = 'tidemark.theme'
const root = document.documentElement

export const theme = signal<Theme>(themes.find((one) => one === root.dataset.theme) ?? 'system')

export function nextTheme(): void {
  const next = themes[(themes.indexOf(theme.value) + 1) % themes.length]!
  theme.value = next
  if (next === 'system') delete root.dataset.theme
  else root.dataset.theme = next
  try {
    if (next === 'system') localStorage.removeItem(key)
    else localStorage.setItem(key, next)
  } catch {
    // Storage may be disabled. Then the choice is lost when the page is closed or reloaded.
  }
}
