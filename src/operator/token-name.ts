/**
 * Compares the names of admin tokens, which identify them in the audit log. Names that look the same count as the same:
 * case, spaces, width and the encoding of accents are ignored.
 */
export const isSameTokenName = (one: string, other: string): boolean =>
  comparableTokenName(one) === comparableTokenName(other)

export const comparableTokenName = (name: string): string =>
  name
    .normalize('NFKC')
    .replace(/\p{Cf}/gu, '')
    .replace(/\s+/gu, ' ')
    .trim()
    .toLowerCase()
