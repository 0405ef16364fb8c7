import { CharClass } from '../../../text/char-class.ts'
import { foldAccents, normaliseWord } from '../../../text/fold-word.ts'
import { guessLanguage } from '../../../text/guess-language.ts'
import { scanRuns } from '../../../text/scan-words.ts'
import { baseLanguage, stemRule, stemWord } from '../../../text/stem-word.ts'
import { type DictionaryLanguage, isDictionaryStopWord, isStopWord } from '../../../text/stop-words.ts'

const lettersMin = 2
/** The number that stands for every stop word. */
const stopWord = -1

const segmenterOf = (language: DictionaryLanguage) => new Intl.Segmenter(language, { granularity: 'word' })
const segmenters = { ja: segmenterOf('ja'), th: segmenterOf('th'), zh: segmenterOf('zh') }

/**
 * Maps the words of the input and their stems to numbers, so that a chunk is a short list of numbers. Leaves out stop
 * words of the text's language, numbers and single letters.
 */
export class Vocabulary {
  readonly #numbers = new Map<string | null, Map<string, number>>()
  readonly #forms: string[] = []
  readonly #stems = new Map<string, number>()
  readonly #stemOf: number[] = []

  /** Returns the numbers of the words, each once, in the order of first occurrence. */
  wordsOf(texts: readonly string[], language: string | null): Uint32Array {
    const found = new Set<number>()
    const add = (base: string | null, written: string, stemOf: (word: string) => string | null): void => {
      const word = normaliseWord(written)
      if (word.length < lettersMin) return
      const number = this.#numberOf(base, word, stemOf)
      if (number !== stopWord) found.add(number)
    }
    for (const text of texts) {
      const base = baseLanguage(language) ?? guessLanguage(text)
      scanRuns(text, (start, end, charClass) => {
        if (charClass === CharClass.digit) return
        const run = text.slice(start, end)
        if (charClass === CharClass.han || charClass === CharClass.dictionary) {
          const inside = charClass === CharClass.dictionary ? 'th' : base === 'ja' ? 'ja' : 'zh'
          const stemOf = (word: string) => (isDictionaryStopWord(word, inside) ? null : word)
          for (const { segment } of segmenters[inside].segment(run)) add(base, segment, stemOf)
        } else {
          add(base, run, (word) => {
            if (base !== null && isStopWord(foldAccents(word), base)) return null
            const { form, language: stemmed } = stemRule(base, charClass)
            return form === 'stem' ? stemWord(word, stemmed) : word
          })
        }
      })
    }
    return Uint32Array.from(found)
  }

  stemOf(word: number): number {
    return this.#stemOf[word]!
  }

  formOf(word: number): string {
    return this.#forms[word]!
  }

  /**
   * Returns the number of a word in a language. The stem (null for a stop word) is computed once per word and language.
   */
  #numberOf(language: string | null, word: string, stemOf: (word: string) => string | null): number {
    let numbers = this.#numbers.get(language)
    if (numbers === undefined) {
      numbers = new Map()
      this.#numbers.set(language, numbers)
    }
    const known = numbers.get(word)
    if (known !== undefined) return known
    const own = detached(word)
    const stem = stemOf(own)
    const number = stem === null ? stopWord : this.#forms.length
    numbers.set(own, number)
    if (stem === null) return number
    const folded = foldAccents(stem)
    const stemNumber = this.#stems.get(folded) ?? this.#stems.size
    this.#stems.set(folded, stemNumber)
    this.#forms.push(own)
    this.#stemOf.push(stemNumber)
    return number
  }
}

/** Copies a slice, because V8 keeps the whole text alive as long as a slice of it. */
const detached = (slice: string): string => Buffer.from(slice, 'utf16le').toString('utf16le')
