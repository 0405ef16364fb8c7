/* Runs before the page is drawn, so that the other theme does not flash up first. theme.ts changes the theme. */
try {
  const chosen = localStorage.getItem('tidemark.theme')
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen
} catch {
  // Storage may be disabled. Then the theme is the system's.
}
