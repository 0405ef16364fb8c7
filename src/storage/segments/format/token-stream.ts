import type { AnalysedField } from '../../../text/types.ts'

/**
 * A field as one array of 32-bit words, the form of all segments: three bits of step from the previous position, and 29
 * bits of term number. A step of 7 or more is stored as 7, and the next word is the step itself. Positions start at -1,
 * so a plain text without gaps has only steps of 1, and terms that share a position have steps of 0. Long steps stay
 * below 2^29, so the word after a step of 7 is recognised by the word before it.
 */
export const stepShift = 29
export const longStep = 7
export const termMask = 2 ** stepShift - 1

/** The word of a long step must not look like a word that such a step follows. */
const stepMax = 2 ** stepShift - 1

/** Indexed terms of one field; later terms are not searchable. Frequencies fit 16 bits this way. */
const fieldTermsMax = 65_535

export function encodeField(field: AnalysedField, termNumber: (term: string) => number): Uint32Array {
  return encodeTokens(field.terms, field.positions, termNumber)
}

/** For terms in any other form. */
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
