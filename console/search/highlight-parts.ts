/** A piece of a highlight, and whether it is what was searched for. */
export interface Part {
  readonly text: string
  readonly isHit: boolean
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

/** A highlight as texts: the server marks hits by `<em>` and escapes the rest, so nothing else in it is markup. */
export function highlightParts(html: string): readonly Part[] {
  return html
    .split(/<(\/?)em>/)
    .map((piece, i, all) => ({
      text: plain(piece),
      isHit: i > 0 && all[i - 1] === '' && i % 2 === 0,
      isMark: i % 2 === 1,
    }))
    .filter(({ text, isMark }) => !isMark && text !== '')
    .map(({ text, isHit }) => ({ text, isHit }))
}

const plain = (escaped: string): string =>
  escaped.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => entities[name]!)

/**
 * A piece of a text with "…" where it was cut. The API does not say where a piece stands in its text: one that begins in
 * small letters or ends without the end of a sentence was cut there, unless it is `whole`, all that there is.
 */
export function withCuts(parts: readonly Part[], whole: string): readonly Part[] {
  const text = parts
    .map((part) => part.text)
    .join('')
    .trim()
  if (text === whole.trim()) return parts
  const before = /^[\p{Ll},;:)]/u.test(text) ? [{ text: '… ', isHit: false }] : []
  const after = /[.!?…。！？"”’)\]»]$/u.test(text) ? [] : [{ text: ' …', isHit: false }]
  return [...before, ...parts, ...after]
}
