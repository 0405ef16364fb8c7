/** A piece of a highlight, and whether it is a match. */
export interface Part {
  readonly text: string
  readonly isHit: boolean
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

/**
 * Splits a highlight into matches and the text between them. The server marks matches with `<em>` and escapes the rest,
 * so nothing else in it is markup.
 */
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
 * Adds "…" where a piece was cut. The API does not say where, so this guesses: a piece that begins with a small letter,
 * or does not end a sentence, was cut there. `whole`, the entire text, was not cut.
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
