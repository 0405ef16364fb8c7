/**
 * The same as `src/platform/path-segment.ts` of the server, which gives the reason. `path-segment.test.ts` compares
 * them.
 */
export function pathSegment(text: string): string {
  if (text === '' || text === '.' || text === '..' || !text.isWellFormed()) {
    throw new Error(`The ID ${JSON.stringify(text)} cannot be part of an address.`)
  }
  return encodeURIComponent(text)
}
