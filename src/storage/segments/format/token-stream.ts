import type { AnalysedField } from '../../../text/types.ts'

/**
 * Encodes a field as an array of 32-bit words: 3 bits for the step from the previous position, and 29 bits for the term
 * number. A step of 7 or more is stored as 7, and the next word is the step itself. Positions start at -1, so a text
 * without gaps has only steps of 1, and terms that share a position have steps of 0. A long step stays below 2^29, so
 * that its word does not look as if another long step followed.
 */
export const stepShift = 29
export const longStep = 7
export const termMask = 2 ** stepShift - 1

/** The upper bits of the word of a long step are 0. */
const stepMax = 2 ** stepShift - 1

/** The number of terms of a field that are indexed, so that frequencies fit 16 bits. Later terms are not searchable. */
const fieldTermsMax = 65_535

export function encodeField(field: AnalysedField, termNumber: (term: string) => number): Uint32Array {
  return encodeTokens(field.terms, field.positions, termNumber)
}

/** Encodes terms in any form for which there is a number. */
export function encodeTokens<Term>(
  terms: ArrayLike<Term>,
  positions: ArrayLike<number>,
  termNumber: (term: Term) => number,
): Uint32Array {
  const count = Math.min(terms.length, positions.length, fieldTermsMax)
  const words = new Uint32Array(2 * count)
  let used = 0
  let last = -1
  for (let i = 0; i < count; i++) {
    const term = termNumber(terms[i]!)
    if (term === 0) continue
    const step = Math.min(Math.max(0, positions[i]! - last), stepMax)
    last += step
    words[used++] = (Math.min(step, longStep) << stepShift) | term
    if (step >= longStep) words[used++] = step
  }
  return words.subarray(0, used)
}
