import { callApi } from '../app/call-api.ts'
import type { Document } from './document-types.ts'

interface Page {
  readonly documents: readonly { readonly document: Document }[]
  readonly next_cursor?: string
}

export interface Listing {
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly pageSize: number
  /** The arrival time of the first document that the application may read; null if there is none. */
  readonly earliest: string | null
  readonly latest: string | null
}

const windowMs = 31 * 86_400_000
const clockSkewMs = 60_000

/**
 * Yields pages of documents, from the newest to the oldest. One listing covers at most 31 days, so this goes back in
 * time window by window. A lookup (`query`) has no window.
 */
export async function* readListing(
  { path, query, pageSize, earliest, latest }: Listing,
  signal: AbortSignal,
): AsyncGenerator<readonly Document[], void> {
  const isLookup = (query.query ?? '') !== ''
  if (earliest === null && !isLookup) return
  // The server's clock may be ahead of this one.
  let end = Math.max(Date.now(), latest === null ? 0 : Date.parse(latest)) + clockSkewMs
  do {
    const start = end - windowMs
    const window = isLookup ? {} : { created_from: timeOf(start), created_to: timeOf(end) }
    let cursor: string | undefined
    do {
      const pageQuery = { ...query, ...window, limit: pageSize, cursor }
      const page: Page = await callApi('GET', path, { query: pageQuery, signal })
      if (page.documents.length > 0) yield page.documents.map(({ document }) => document)
      cursor = page.next_cursor
    } while (cursor !== undefined)
    end = start
  } while (!isLookup && end > Date.parse(earliest!))
}

const timeOf = (ms: number): string => new Date(ms).toISOString()
