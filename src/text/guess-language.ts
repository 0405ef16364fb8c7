import { CharClass } from './char-class.ts'
import { scanRuns } from './scan-words.ts'
import { languagesWithStopWordAt, STOP_WORD_LANGUAGES } from './stop-words.ts'

/** Only the start of a text is read, which bounds the work. */
const SAMPLE_LENGTH = 2000
/**
 * A guess needs more than one word that no other language shares, because one may be a name (`Pro` is Czech for `for`).
 */
const WEIGHT_MIN = 1.5
/** In running text it needs the weight of one such word in 20 words. */
const WEIGHT_PER_WORD_MIN = 0.05
/** It needs this lead over the second language. */
const LEAD_MIN = 1.25

interface LanguageWeights {
  readonly words: number
  readonly best: string | null
  readonly weight: number
  readonly secondWeight: number
}

/** Weighs languages by their function words in the text. A word counts less the more languages share it. */
function weighLanguages(text: string): LanguageWeights {
  const weights = new Float64Array(STOP_WORD_LANGUAGES.length)
  const sample = text.slice(0, SAMPLE_LENGTH)
  let words = 0
  scanRuns(sample, (start, end, charClass) => {
    if (charClass === CharClass.digit || charClass >= CharClass.han) return
    words += 1
    // Single Latin letters are initials, units and variables more often than words.
    if (end - start > 16 || (end - start === 1 && charClass === CharClass.latin)) return
    const languages = languagesWithStopWordAt(sample, start, end)
    for (let i = 0; i < languages.length; i++) weights[languages[i]!]! += 1 / languages.length
  })
  let best: string | null = null
  let weight = 0
  let secondWeight = 0
  for (let i = 0; i < weights.length; i++) {
    const one = weights[i]!
    if (one > weight) {
      best = STOP_WORD_LANGUAGES[i]!
      secondWeight = weight
      weight = one
    } else if (one > secondWeight) secondWeight = one
  }
  return { words, best, weight, secondWeight }
}

/** Returns the ISO 639-1 code of the language of a text, guessed by its function words; null if that is not clear. */
export const guessLanguage = (text: string): string | null => guessWithParts(text).language

export interface Guess {
  readonly language: string | null
  /** Whether the text has so few function words that no part of it can have a clear language either. */
  readonly noPartIsClear: boolean
}

/** Does the same as `guessLanguage`, and reports whether guessing parts of the text is useless. */
export function guessWithParts(text: string): Guess {
  const { words, best, weight, secondWeight } = weighLanguages(text)
  const isClear = weight >= Math.max(WEIGHT_MIN, words * WEIGHT_PER_WORD_MIN) && weight >= LEAD_MIN * secondWeight
  return { language: isClear ? best : null, noPartIsClear: weight < WEIGHT_MIN && text.length <= SAMPLE_LENGTH }
}
