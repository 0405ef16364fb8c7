/* Runs before the page is drawn, so that a chosen theme does not flash in after the other. theme.ts changes it. */
try {
  const chosen = localStorage.getItem('tidemark.theme')
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen
} catch {
  // Storage may be switched off: then the theme is the system's.
}
