/** Returns a document's URL if its scheme is http or https; null for any other, which might run code. */
export function safeUrl(text: string | null | undefined): string | null {
  const url = text ? URL.parse(text) : null
  return url !== null && (url.protocol === 'https:' || url.protocol === 'http:') ? url.href : null
}
