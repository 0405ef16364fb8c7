/**
 * Goes to a part of the page and marks it. `:target` cannot do this: the parts are made after the page has loaded, and
 * fields found by the filter have no address.
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
