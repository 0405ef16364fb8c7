import { CharClass } from './char-class.ts'
import { normaliseWord } from './fold-word.ts'
import { scanRuns } from './scan-words.ts'
import { languagesWithStopWord, mayBeStopWord } from './stop-words.ts'

/** The start of a text is enough, and bounds the work. */
const SAMPLE_LENGTH = 2000
/** A guess needs more than one word that no other language shares, which may be a name (`Pro` is Czech for `for`); */
const WEIGHT_MIN = 1.5
/** in running text that of one in 20 words, */
const WEIGHT_PER_WORD_MIN = 0.05
/** and this lead over the second language. */
const LEAD_MIN = 1.25

type LanguageWeights = { words: number; weights: { language: string; weight: number }[] }

/** The languages whose function words the text holds, best first. A word counts for less the more languages share it. */
function weighLanguages(text: string): LanguageWeights {
  const weights = new Map<string, number>()
  const sample = text.slice(0, SAMPLE_LENGTH)
  let words = 0
  scanRuns(sample, (start, end, charClass) => {
    if (charClass === CharClass.digit || charClass >= CharClass.han) return
    words += 1
    // Single Latin letters are initials, units and variables more often than words.
    if (end - start > 16 || (end - start === 1 && charClass === CharClass.latin)) return
    if (!mayBeStopWord(sample, start, end)) return
    const languages = languagesWithStopWord(normaliseWord(sample.slice(start, end)))
    for (const language of languages) weights.set(language, (weights.get(language) ?? 0) + 1 / languages.length)
  })
  const sorted = [...weights]
    .map(([language, weight]) => ({ language, weight }))
    .sort((a, b) => b.weight - a.weight || (a.language < b.language ? -1 : 1))
  return { words, weights: sorted }
}

/** The ISO 639-1 code of the language a text is written in, told by its function words; null when that is not clear. */
export const guessLanguage = (text: string): string | null => guessWithParts(text).language

export interface Guess {
  readonly language: string | null
  /** So few function words are in all of the text that it would be clear of no part of it either. */
  readonly isNoneOfParts: boolean
}

/** The same, with what it says of parts of the text: these need not be read for it again. */
export function guessWithParts(text: string): Guess {
  const { words, weights } = weighLanguages(text)
  const [first, second] = weights
  const weight = first?.weight ?? 0
  const isClear =
    weight >= Math.max(WEIGHT_MIN, words * WEIGHT_PER_WORD_MIN) && weight >= LEAD_MIN * (second?.weight ?? 0)
  return {
    language: isClear ? first!.language : null,
    isNoneOfParts: weight < WEIGHT_MIN && text.length <= SAMPLE_LENGTH,
  }
}
