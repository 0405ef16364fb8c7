import { useEffect, useLayoutEffect } from 'preact/hooks'

/** Where somebody is in a view: how far down, and at which link. Kept with what is shown, for who comes back to it. */
export interface KeptPlace {
  topPx: number
  href: string | null
}

export const atTheTop = (): KeptPlace => ({ topPx: 0, href: null })

/** Puts the reader where they were, and notes where they go. */
export function useKeptPlace(kept: KeptPlace | null): void {
  useLayoutEffect(() => {
    if (kept !== null && kept.topPx > 0) scrollTo({ top: kept.topPx, behavior: 'instant' })
  }, [kept])
  useEffect(() => {
    if (kept === null) return
    const { pathname } = location
    const scrolled = (): void => {
      // The next view begins at its top before this one is gone.
      if (location.pathname === pathname) kept.topPx = scrollY
    }
    const touched = ({ target }: Event): void => {
      if (location.pathname !== pathname) return
      kept.href = (target as Element).closest('main a')?.getAttribute('href') ?? null
      kept.topPx = scrollY
    }
    const giveUp = kept.href === null ? () => {} : focusWhenThere(kept.href)
    addEventListener('scroll', scrolled, { passive: true })
    addEventListener('focusin', touched)
    // Before the router goes where the link leads. Not every browser gives focus to what is clicked.
    addEventListener('click', touched, { capture: true })
    return () => {
      giveUp()
      removeEventListener('scroll', scrolled)
      removeEventListener('focusin', touched)
      removeEventListener('click', touched, { capture: true })
    }
  }, [kept])
}

/** A list draws its rows after it was put into the page: they are waited for, until the reader does something else. */
function focusWhenThere(href: string): () => void {
  const focus = (): boolean => {
    const link = document.querySelector<HTMLElement>(`main a[href="${CSS.escape(href)}"]`)
    link?.focus({ preventScroll: true })
    return link !== null
  }
  if (focus()) return () => {}
  const drawn = new MutationObserver(() => {
    if (focus()) giveUp()
  })
  const giveUp = (): void => {
    drawn.disconnect()
    for (const event of ['keydown', 'pointerdown', 'wheel']) removeEventListener(event, giveUp)
  }
  drawn.observe(document.querySelector('main')!, { subtree: true, childList: true })
  for (const event of ['keydown', 'pointerdown', 'wheel']) addEventListener(event, giveUp, { passive: true })
  return giveUp
}
