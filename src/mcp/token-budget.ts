/**
 * How much an answer may weigh in the context of whoever reads it. What a token is differs from model to model: three
 * characters of ASCII or one other character are more than any of the usual ones takes, so an answer is never heavier
 * than it was asked to be.
 */
export const tokenLimits = { min: 1000, max: 25_000, default: 4000 } as const

const asciiPerToken = 3

export function tokensIn(text: string): number {
  let other = 0
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 127) other++
  return Math.ceil((text.length - other) / asciiPerToken) + other
}

/** An id in a list of ids. */
const tokensOfId = 14

/** The first items that fit together, and the ids of those that do not: those fit too. */
export function fitting<Item extends object>(
  items: readonly Item[],
  idOf: (item: Item) => string,
  tokens: number,
): { readonly shown: readonly Item[]; readonly left: readonly string[] } {
  let used = 0
  let fit = 0
  for (const item of items) {
    used += tokensIn(JSON.stringify(item))
    if (used + (items.length - fit - 1) * tokensOfId > tokens) break
    fit++
  }
  return { shown: items.slice(0, fit), left: items.slice(fit).map(idOf) }
}

/** The part of a text from a place on that fits, never with half of a character; `next` is where the rest begins. */
export function partOf(
  text: string,
  from: number,
  tokens: number,
): { readonly part: string; readonly next: number | null } {
  let start = Math.min(from, text.length)
  if (isWithinPair(text, start)) start++
  let end = start
  for (let used = 0; end < text.length; end++) {
    const code = text.charCodeAt(end)
    // As JSON writes it: a line break or a quote is two characters there, a control character six.
    const written = code < 32 ? (code === 10 || code === 13 || code === 9 ? 2 : 6) : code === 34 || code === 92 ? 2 : 1
    used += code > 127 ? 1 : written / asciiPerToken
    if (used > tokens) break
  }
  if (isWithinPair(text, end)) end--
  return { part: text.slice(start, end), next: end < text.length ? end : null }
}

/** A text that stands in a list, shortened so that one long one does not take the place of all others. */
export function clipped(text: string, characters: number): string {
  if (text.length <= characters) return text
  return `${text.slice(0, isWithinPair(text, characters) ? characters - 1 : characters)}…`
}

const isWithinPair = (text: string, at: number): boolean =>
  at > 0 && at < text.length && /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1))
