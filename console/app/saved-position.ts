import { useEffect, useLayoutEffect } from 'preact/hooks'

/**
 * The scroll position and the last used link of a view. They are kept with the view's data, for a reader who comes
 * back.
 */
export interface SavedPosition {
  topPx: number
  href: string | null
}

export const atTop = (): SavedPosition => ({ topPx: 0, href: null })

/** Restores the reader's position, and then keeps recording it. */
export function useSavedPosition(kept: SavedPosition | null): void {
  useLayoutEffect(() => {
    if (kept !== null && kept.topPx > 0) scrollTo({ top: kept.topPx, behavior: 'instant' })
  }, [kept])
  useEffect(() => {
    if (kept === null) return
    const { pathname } = location
    const scrolled = (): void => {
      // The next view scrolls to the top before this one is unmounted.
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
    // Runs before the router follows the link. Not every browser focuses a clicked link.
    addEventListener('click', touched, { capture: true })
    return () => {
      giveUp()
      removeEventListener('scroll', scrolled)
      removeEventListener('focusin', touched)
      removeEventListener('click', touched, { capture: true })
    }
  }, [kept])
}

/**
 * Focuses a link as soon as its row exists, because a list draws its rows late. Gives up when the reader does something
 * else.
 */
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
