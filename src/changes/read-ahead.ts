import type { ChangeLog, ChangePage, ChangeQuery } from './change-log.ts'

/** Pages kept for readers that come back for them, some tens of kilobytes each. */
const pagesMax = 32
/** And for so long: who catches up comes at once, and of what is erased events tell less from some moment on. */
const keptForMs = 1000

/**
 * Reads the next page while a consumer takes the one before. Without it a consumer that catches up waits for the store,
 * then the store for the consumer, and each page costs two more turns between threads than it need.
 *
 * Only full pages are given out: no event ever comes to stand between those of a full page, so what it has stays
 * right. What a page depends on, the entitlements included, is its query, and that is its key. Whether
 * retention has passed the reader by is asked before (`startOf`).
 */
export function readAhead(
  log: Pick<ChangeLog, 'read'>,
  now: () => number = () => performance.now(),
): Pick<ChangeLog, 'read'> {
  const ahead = new Map<string, { readonly page: Promise<ChangePage>; readonly begunAt: number }>()

  const begin = (query: ChangeQuery): void => {
    const page = log.read(query)
    // Whoever asks for it reads it anew, and is told.
    page.catch(() => {})
    const [oldest] = ahead.keys()
    if (ahead.size >= pagesMax && oldest !== undefined) ahead.delete(oldest)
    ahead.set(JSON.stringify(query), { page, begunAt: now() })
  }
  const kept = async (query: ChangeQuery): Promise<ChangePage | null> => {
    if (ahead.size === 0) return null
    const key = JSON.stringify(query)
    const begun = ahead.get(key)
    ahead.delete(key)
    if (begun === undefined || now() - begun.begunAt > keptForMs) return null
    const page = await begun.page.catch(() => null)
    return page?.count === query.limit ? page : null
  }

  return {
    async read(query) {
      const page = (await kept(query)) ?? (await log.read(query))
      // The first page alone may be all that somebody wants; who comes with a position goes on.
      if (query.after !== null && page.count === query.limit && !page.atEnd) begin({ ...query, after: page.position })
      return page
    },
  }
}
