import { signal } from '@preact/signals'
import { mayLeave } from './unsaved.ts'

/** Where the reader is: a path and what is asked there. Addresses can be shared; no secret is ever in one. */
export interface Place {
  readonly path: string
  readonly query: URLSearchParams
  /** Gone to by the browser's "back" or "forward": what was there is wanted as it was. */
  readonly isReturn: boolean
}

const here = (isReturn = false): Place => ({
  path: location.pathname,
  query: new URLSearchParams(location.search),
  isReturn,
})

export const place = signal<Place>(here())

/** Goes to an address of the console. `replace`: as a correction of the present one, which "back" does not return to. */
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

/** Links of the console change the view without loading the page; `isView` says which paths are the console's. */
export function followLinks(isView: (path: string) => boolean): void {
  addEventListener('popstate', () => {
    // Going to a part of the same page is no change of place.
    const { path, query } = place.value
    if (path === location.pathname && String(query) === String(here().query)) return
    // The browser has gone already, and does not say which way.
    if (path !== location.pathname && !mayLeave())
      history.pushState(null, '', `${path}${query.size === 0 ? '' : `?${query}`}`)
    else place.value = here(true)
  })
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return
    const link = (event.target as Element).closest('a')
    if (link === null || link.target !== '' || link.hasAttribute('download') || link.origin !== location.origin) return
    // Within a page the browser goes by itself.
    if (link.pathname === location.pathname && link.hash !== '') return
    if (!isView(link.pathname)) return
    event.preventDefault()
    go(link.href)
  })
}
