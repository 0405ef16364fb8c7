import type { AnalysedField } from '../../../text/types.ts'

/**
 * A field as one array of 32-bit words, the form in which segments keep it: three bits of step from the position before,
 * 29 bits of term number. A step of 7 or more is 7, and the step itself is the next word. Positions start at -1, so a
 * plain text without gaps is all steps of 1, and terms that share a position have steps of 0. Numbers of long steps stay
 * below 2^29, so a word after a step of 7 can be told by the word before it.
 */
export const stepShift = 29
export const longStep = 7
export const termMask = 2 ** stepShift - 1

/** A step's own word must not look like one that a long step follows. */
const stepMax = 2 ** stepShift - 1

/** Terms of one field that are indexed; what comes after is not searchable. Frequencies fit 16 bits this way. */
const fieldTermsMax = 65_535

export function encodeField(field: AnalysedField, termNumber: (term: string) => number): Uint32Array {
  return encodeTokens(field.terms, field.positions, termNumber)
}

/** Of terms that are told otherwise. */
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
