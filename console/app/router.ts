import { signal } from '@preact/signals'
import { mayLeave } from './unsaved.ts'

/** The reader's location: path and query. Addresses can be shared, so they never contain a secret. */
export interface Place {
  readonly path: string
  readonly query: URLSearchParams
  /** Whether the browser's "back" or "forward" led here, so that the view should look as the reader left it. */
  readonly isReturn: boolean
}

const here = (isReturn = false): Place => ({
  path: location.pathname,
  query: new URLSearchParams(location.search),
  isReturn,
})

export const place = signal<Place>(here())

/** Goes to an address of the console. `replace` corrects the present address, so "back" does not return to it. */
export function go(address: string, { replace = false } = {}): void {
  const url = new URL(address, location.href)
  if (url.pathname !== location.pathname && !mayLeave()) return
  if (url.href !== location.href) {
    if (replace) history.replaceState(null, '', url)
    else history.pushState(null, '', url)
  }
  const before = place.value
  place.value = here()
  if (before.path !== place.value.path) scrollTo({ top: 0, behavior: 'instant' })
}

/** Follows links of the console without loading the page. `isView` says which paths belong to the console. */
export function followLinks(isView: (path: string) => boolean): void {
  addEventListener('popstate', () => {
    // A jump within a page does not change the location.
    const { path, query } = place.value
    if (path === location.pathname && String(query) === String(here().query)) return
    // The browser has navigated already and does not say in which direction, so the address is pushed again.
    if (path !== location.pathname && !mayLeave())
      history.pushState(null, '', `${path}${query.size === 0 ? '' : `?${query}`}`)
    else place.value = here(true)
  })
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return
    const link = (event.target as Element).closest('a')
    if (link === null || link.target !== '' || link.hasAttribute('download') || link.origin !== location.origin) return
    // The browser itself follows links within a page.
    if (link.pathname === location.pathname && link.hash !== '') return
    if (!isView(link.pathname)) return
    event.preventDefault()
    go(link.href)
  })
}
