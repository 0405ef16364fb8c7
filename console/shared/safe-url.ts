/** Returns an address from outside if it is safe to follow; null for any scheme but the web's. */
export function safeUrl(text: string | null | undefined): string | null {
  const url = text ? URL.parse(text) : null
  return url !== null && (url.protocol === 'https:' || url.protocol === 'http:') ? url.href : null
}
