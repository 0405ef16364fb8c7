/**
 * Does the same as the server's `src/platform/path-segment.ts`, which gives the reason. `path-segment.test.ts` compares
 * the two.
 */
export function pathSegment(text: string): string {
  if (text === '' || text === '.' || text === '..' || !text.isWellFormed()) {
    throw new Error(`The ID ${JSON.stringify(text)} cannot be part of an address.`)
  }
  return encodeURIComponent(text)
}
