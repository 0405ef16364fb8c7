import { ask } from '../app/ask.ts'
import type { Document } from './document-types.ts'

interface Page {
  readonly documents: readonly { readonly document: Document }[]
  readonly next_cursor?: string
}

export interface Listing {
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly pageSize: number
  /** When the first document came in that the application may read; null when there is none. */
  readonly earliest: string | null
  readonly latest: string | null
}

const windowMs = 31 * 86_400_000
const clockSkewMs = 60_000

/**
 * Pages of documents, the newest first, to the very first one. A listing covers 31 days at most, so that it goes back window
 * by window; a lookup (`query`) has none.
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
      const asked = { ...query, ...window, limit: pageSize, cursor }
      const page: Page = await ask('GET', path, { query: asked, signal })
      if (page.documents.length > 0) yield page.documents.map(({ document }) => document)
      cursor = page.next_cursor
    } while (cursor !== undefined)
    end = start
  } while (!isLookup && end > Date.parse(earliest!))
}

const timeOf = (ms: number): string => new Date(ms).toISOString()
