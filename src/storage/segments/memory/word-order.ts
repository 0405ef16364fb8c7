import type { TermDictionary } from './term-dictionary.ts'
import { headBytes, headOf, wordStart } from './term-shapes.ts'

/**
 * Orders the terms of a segment by the first bytes of their words, so that words with a common prefix are adjacent.
 * Writes positions in the segment's list of terms. Words with equal first bytes keep the order of the list.
 */
export function writeWordOrder(
  terms: Uint32Array<ArrayBufferLike>,
  { shapes }: Pick<TermDictionary, 'shapes'>,
  order: Uint32Array<ArrayBufferLike>,
): void {
  const { heads } = shapes
  let keys = new Uint32Array(terms.length)
  let sortedKeys = new Uint32Array(terms.length)
  let positions = order
  let sortedPositions: Uint32Array<ArrayBufferLike> = new Uint32Array(terms.length)
  for (let position = 0; position < terms.length; position++) {
    keys[position] = heads[terms[position]!]!
    positions[position] = position
  }
  // A radix sort, last byte first; each pass is stable. After four passes the result is in `order` again.
  for (let shift = 0; shift < headBytes * 8; shift += 8) {
    const next = startsOf(keys, shift)
    for (let i = 0; i < keys.length; i++) {
      const at = next[(keys[i]! >>> shift) & 0xff]!++
      sortedKeys[at] = keys[i]!
      sortedPositions[at] = positions[i]!
    }
    ;[keys, sortedKeys, positions, sortedPositions] = [sortedKeys, keys, sortedPositions, positions]
  }
}

/** The start of the range of each byte value. */
function startsOf(keys: Uint32Array, shift: number): Uint32Array {
  const starts = new Uint32Array(256)
  for (let i = 0; i < keys.length; i++) starts[(keys[i]! >>> shift) & 0xff]!++
  let start = 0
  for (let value = 0; value < starts.length; value++) {
    const count = starts[value]!
    starts[value] = start
    start += count
  }
  return starts
}

/** Returns the positions of the terms whose words start with these bytes of UTF-8. */
export function positionsWithPrefix(
  terms: Uint32Array<ArrayBufferLike>,
  order: Uint32Array<ArrayBufferLike>,
  { shapes, starts, text }: Pick<TermDictionary, 'shapes' | 'starts' | 'text'>,
  prefix: Uint8Array,
): Uint32Array<ArrayBufferLike> {
  const { heads } = shapes
  const { head, bits } = headOf(prefix, 0, prefix.length)
  const firstAbove = (limit: number): number => {
    let low = 0
    let high = order.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (heads[terms[order[middle]!]!]! >>> 0 <= limit) low = middle + 1
      else high = middle
    }
    return low
  }
  const candidates = order.subarray(firstAbove((head >>> 0) - 1), firstAbove((head | ~bits) >>> 0))
  // A word that is shorter than a head is padded with zeros, so a prefix with a zero byte needs the comparison.
  if (prefix.length <= headBytes && !prefix.includes(0)) return candidates
  return candidates.filter((position) => {
    const end = starts[terms[position]! + 1]!
    return hasPrefix(text, wordStart(text, starts[terms[position]!]!, end), end, prefix)
  })
}

function hasPrefix(text: Uint8Array<ArrayBufferLike>, start: number, end: number, bytes: Uint8Array): boolean {
  if (end - start < bytes.length) return false
  for (let i = 0; i < bytes.length; i++) if (text[start + i] !== bytes[i]) return false
  return true
}
