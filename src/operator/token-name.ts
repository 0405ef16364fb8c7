/**
 * Names by which admin tokens are told apart, in the audit log and by whoever revokes one. Two names that a reader would
 * take for the same one are the same: case, spaces, width and how accents are written do not tell them apart.
 */
export const isSameTokenName = (one: string, other: string): boolean => asRead(one) === asRead(other)

export const asRead = (name: string): string =>
  name
    .normalize('NFKC')
    .replace(/\p{Cf}/gu, '')
    .replace(/\s+/gu, ' ')
    .trim()
    .toLowerCase()
