import type { TermDictionary } from './term-dictionary.ts'
import { headBytes, headOf, wordStart } from './term-shapes.ts'

/**
 * The terms of a segment ordered by the first bytes of their words, as positions in its list, so that words with a
 * common prefix are adjacent. Words with equal first bytes keep the order of the list.
 */
export function writeWordOrder(
  terms: Uint32Array<ArrayBufferLike>,
  { shapes }: Pick<TermDictionary, 'shapes'>,
  order: Uint32Array<ArrayBufferLike>,
): void {
  const { heads } = shapes
  let keys = new Uint32Array(terms.length)
  let sortedKeys = new Uint32Array(terms.length)
  let places = order
  let sortedPlaces: Uint32Array<ArrayBufferLike> = new Uint32Array(terms.length)
  for (let place = 0; place < terms.length; place++) {
    keys[place] = heads[terms[place]!]!
    places[place] = place
  }
  // A radix sort, last byte first; each pass is stable. After four passes the result is in `order` again.
  for (let shift = 0; shift < headBytes * 8; shift += 8) {
    const next = startsOf(keys, shift)
    for (let i = 0; i < keys.length; i++) {
      const at = next[(keys[i]! >>> shift) & 0xff]!++
      sortedKeys[at] = keys[i]!
      sortedPlaces[at] = places[i]!
    }
    ;[keys, sortedKeys, places, sortedPlaces] = [sortedKeys, keys, sortedPlaces, places]
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

/** The positions of the terms whose words begin with these bytes of UTF-8. */
export function positionsWithPrefix(
  terms: Uint32Array<ArrayBufferLike>,
  order: Uint32Array<ArrayBufferLike>,
  { shapes, starts, text }: Pick<TermDictionary, 'shapes' | 'starts' | 'text'>,
  beginning: Uint8Array,
): Uint32Array<ArrayBufferLike> {
  const { heads } = shapes
  const { head, bits } = headOf(beginning, 0, beginning.length)
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
  const alike = order.subarray(firstAbove((head >>> 0) - 1), firstAbove((head | ~bits) >>> 0))
  // The head of a shorter word ends in zeros.
  if (beginning.length <= headBytes && !beginning.includes(0)) return alike
  return alike.filter((place) => {
    const end = starts[terms[place]! + 1]!
    return begins(text, wordStart(text, starts[terms[place]!]!, end), end, beginning)
  })
}

function begins(text: Uint8Array<ArrayBufferLike>, start: number, end: number, bytes: Uint8Array): boolean {
  if (end - start < bytes.length) return false
  for (let i = 0; i < bytes.length; i++) if (text[start + i] !== bytes[i]) return false
  return true
}
