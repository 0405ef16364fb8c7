/**
 * Goes to a part of the page and marks it. `:target` would not do: the parts are made after the page has loaded, and what
 * the filter finds has no address of its own.
 */
export function goTo(place: HTMLElement): void {
  for (const marked of document.querySelectorAll('.here')) marked.classList.remove('here')
  place.classList.add('here')
  place.scrollIntoView({ behavior: 'instant' })
  let title = place.querySelector<HTMLElement>('[tabindex="-1"]')
  if (title === null) {
    title = place
    title.tabIndex = -1
  }
  title.focus({ preventScroll: true })
}
