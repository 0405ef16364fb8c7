import { locateWords } from './analyse.ts'
import { wholeWord } from './stem-word.ts'
import { isStopWordSomewhere } from './stop-words.ts'
import { termsOf } from './word-terms.ts'

export interface Lengths {
  readonly least: number
  readonly most: number
}

/** Of all letters only `İ` becomes two characters by its lower case, and words are cut otherwise then. */
const DOT_ABOVE = '\u0307'

/**
 * The lengths that `analyse` can give to a text which is this one but for the case of its letters and the blanks around it,
 * by the rules of whatever language: these differ by their stop words alone. Null where nothing can be said.
 */
export function equalLengths(text: string): Lengths | null {
  const lower = text.toLowerCase()
  if (lower.includes(DOT_ABOVE)) return null
  let most = 0
  let stopWords = 0
  const term = (_: string, position: number): void => {
    most = Math.max(most, position + 1)
  }
  locateWords(lower, term, (position, start, end) => {
    const [folded] = termsOf(lower.slice(start, end))(wholeWord).terms
    if (folded === undefined) return false
    most = position + 1
    if (isStopWordSomewhere(folded)) stopWords += 1
    return true
  })
  return { least: most - stopWords, most }
}
