/**
 * A gap is the unallocated space of a B-tree page, between the cell pointers and the cells. SQLite leaves old content
 * in it when it moves cells to a neighbouring page, even with `secure_delete`.
 */

/** The header sizes of B-tree pages, by the first byte of the page. Other pages have no gap. */
const headBytesOf: Readonly<Record<number, number>> = { 2: 12, 5: 12, 10: 8, 13: 8 }
/** The file header precedes the header of the first page. */
const fileHeadBytes = 100

/** With more pages, the page number at the start of an overflow page could look like the type of a B-tree page. */
export const unambiguousPagesMax = 2 ** 25 - 1

export function pageBytesOf(fileHead: Buffer): number {
  const stored = fileHead.readUInt16BE(16)
  return stored === 1 ? 65_536 : stored
}

/** Overwrites the gap with zeros. Returns whether it held anything else. */
export function clearGap(page: Buffer, isFirst: boolean): boolean {
  const head = isFirst ? fileHeadBytes : 0
  const headBytes = headBytesOf[page[head]!]
  if (headBytes === undefined) return false
  const from = head + headBytes + 2 * page.readUInt16BE(head + 3)
  const to = page.readUInt16BE(head + 5) || 65_536
  // Not a B-tree page, for example a freed page with its old first byte.
  if (from >= to || to > page.length) return false
  const gap = page.subarray(from, to)
  if (gap.every((byte) => byte === 0)) return false
  gap.fill(0)
  return true
}
