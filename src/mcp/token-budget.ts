/**
 * Limits the size of an answer in the context of a model. Token counts differ between models. Here three ASCII
 * characters count as one token, and so does any other UTF-16 code unit. Common models need fewer tokens, so an answer
 * stays within its limit.
 */
export const tokenLimits = { min: 1000, max: 25_000, default: 4000 } as const

const asciiPerToken = 3

export function tokensIn(text: string): number {
  let other = 0
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 127) other++
  return Math.ceil((text.length - other) / asciiPerToken) + other
}

/** The tokens of one ID in a list of IDs. */
const tokensOfId = 14

/** The first items that fit, and the ids of the rest. The ids are part of the budget. */
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

export interface FittingFields {
  readonly shown: Readonly<Record<string, unknown>>
  /** The number of omitted values for each field name; 1 for a field with a single value. Absent if all values fit. */
  readonly left: Readonly<Record<string, number>> | undefined
}

/** The first fields of an object that fit; a list or an object in a field is cut to what fits. */
export function fittingFields(fields: Readonly<Record<string, unknown>>, tokens: number): FittingFields {
  let room = tokens
  const takes = (...parts: readonly unknown[]): boolean => {
    // One token for the separators: a colon, a comma, brackets.
    const weight = parts.reduce((sum: number, part) => sum + tokensIn(JSON.stringify(part)), 1)
    if (weight > room) return false
    room -= weight
    return true
  }
  const shown: [string, unknown][] = []
  const left: [string, number][] = []
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || value === null) continue
    const isList = Array.isArray(value)
    const parts = typeof value === 'object' ? Object.entries(value) : null
    if (parts === null) {
      if (takes(name, value)) shown.push([name, value])
      else left.push([name, 1])
    } else if (parts.length > 0) {
      const fit = takes(name, {}) ? parts.filter(([key, one]) => (isList ? takes(one) : takes(key, one))) : []
      if (fit.length > 0) shown.push([name, isList ? fit.map(([, one]) => one) : Object.fromEntries(fit)])
      if (fit.length < parts.length) left.push([name, parts.length - fit.length])
    }
  }
  return { shown: Object.fromEntries(shown), left: left.length === 0 ? undefined : Object.fromEntries(left) }
}

/**
 * The part of a text that starts at `from` and fits. Never splits a surrogate pair. `next` is where the rest starts.
 */
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
    // The length in JSON, where a line break or a quote takes two characters and a control character six.
    const written = code < 32 ? (code === 10 || code === 13 || code === 9 ? 2 : 6) : code === 34 || code === 92 ? 2 : 1
    used += code > 127 ? 1 : written / asciiPerToken
    if (used > tokens) break
  }
  if (isWithinPair(text, end)) end--
  return { part: text.slice(start, end), next: end < text.length ? end : null }
}

/** Shortens a text in a list, so that one long text does not push out all others. */
export function clipped(text: string, characters: number): string {
  if (text.length <= characters) return text
  return `${text.slice(0, isWithinPair(text, characters) ? characters - 1 : characters)}…`
}

const isWithinPair = (text: string, at: number): boolean =>
  at > 0 && at < text.length && /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1))
