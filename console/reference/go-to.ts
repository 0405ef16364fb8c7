/**
 * Goes to a part of the page and marks it. `:target` cannot do this, because the parts are created after the page has
 * loaded, and a field has no address of its own.
 */
export function goTo(element: HTMLElement): void {
  for (const marked of document.querySelectorAll('.here')) marked.classList.remove('here')
  element.classList.add('here')
  element.scrollIntoView({ behavior: 'instant' })
  let title = element.querySelector<HTMLElement>('[tabindex="-1"]')
  if (title === null) {
    title = element
    title.tabIndex = -1
  }
  title.focus({ preventScroll: true })
}
