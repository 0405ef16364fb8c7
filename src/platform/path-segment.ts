/**
 * Encodes a text as one segment of a URL path; returns null if that is impossible. An empty text and dots would change
 * the path even if escaped. An unpaired surrogate cannot be escaped.
 *
 * `console/shared/path-segment.ts` does the same for pages, which can import nothing from here.
 */
export const pathSegment = (text: string): string | null =>
  text === '' || text === '.' || text === '..' || !text.isWellFormed() ? null : encodeURIComponent(text)

export const pathSegmentRule = 'must not be empty, "." or ".." or contain an unpaired surrogate'
