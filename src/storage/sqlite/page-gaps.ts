/**
 * Bytes of a database page between the pointers to its cells and the cells. SQLite has no use for them, and leaves in them
 * what stood there when it moved cells to a neighbouring page, whatever `secure_delete` says.
 */

/** By the first byte of a page: pages of a tree. All others are without a gap. */
const headBytesOf: Readonly<Record<number, number>> = { 2: 12, 5: 12, 10: 8, 13: 8 }
/** Before the head of the first page stands that of the file. */
const fileHeadBytes = 100

/** Beyond this many the number of a following page, with which other pages begin, looks like the first byte of a tree's. */
export const tellablePagesMax = 2 ** 25 - 1

export function pageBytesOf(fileHead: Buffer): number {
  const told = fileHead.readUInt16BE(16)
  return told === 1 ? 65_536 : told
}

/** Overwrites the gap with zeros. Returns whether anything else was in it. */
export function clearGap(page: Buffer, isFirst: boolean): boolean {
  const head = isFirst ? fileHeadBytes : 0
  const headBytes = headBytesOf[page[head]!]
  if (headBytes === undefined) return false
  const from = head + headBytes + 2 * page.readUInt16BE(head + 3)
  const to = page.readUInt16BE(head + 5) || 65_536
  // One that is no tree's after all, such as a freed one that is kept as it was.
  if (from >= to || to > page.length) return false
  const gap = page.subarray(from, to)
  if (gap.every((byte) => byte === 0)) return false
  gap.fill(0)
  return true
}
