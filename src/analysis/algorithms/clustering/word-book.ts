import { CharClass } from '../../../text/char-class.ts'
import { type DictionaryLanguage, isDictionaryStopWord } from '../../../text/dictionary-stop-words.ts'
import { foldAccents, normaliseWord } from '../../../text/fold-word.ts'
import { guessLanguage } from '../../../text/guess-language.ts'
import { scanRuns } from '../../../text/scan-words.ts'
import { baseLanguage, type StemRule, stemRule, stemWord } from '../../../text/stem-word.ts'
import { isStopWord } from '../../../text/stop-words.ts'

const lettersMin = 2

const segmenterOf = (language: DictionaryLanguage) => new Intl.Segmenter(language, { granularity: 'word' })
const segmenters = { ja: segmenterOf('ja'), th: segmenterOf('th'), zh: segmenterOf('zh') }

/**
 * The words of the input by number, each with the number of its stem, so that a chunk is a short list of numbers. Stop
 * words of the text's language, numbers and single letters are left out.
 */
export class WordBook {
  readonly #words = new Map<string, number>()
  readonly #keys: string[] = []
  readonly #stems = new Map<string, number>()
  readonly #stemOf: number[] = []

  /** Each once, in the order in which they stand. */
  wordsOf(texts: readonly string[], language: string | null): Uint32Array {
    const found = new Set<number>()
    for (const text of texts) {
      const base = baseLanguage(language) ?? guessLanguage(text)
      const rules: StemRule[] = []
      scanRuns(text, (start, end, charClass) => {
        if (charClass === CharClass.digit) return
        if (charClass === CharClass.han || charClass === CharClass.dictionary) {
          const inside = charClass === CharClass.dictionary ? 'th' : base === 'ja' ? 'ja' : 'zh'
          for (const { segment } of segmenters[inside].segment(text.slice(start, end))) {
            const word = normaliseWord(segment)
            if (word.length < lettersMin || isDictionaryStopWord(word, inside)) continue
            found.add(this.#numberOf(base, word, word))
          }
          return
        }
        rules[charClass] ??= stemRule(base, charClass)
        const rule = rules[charClass]
        const word = normaliseWord(text.slice(start, end))
        if (word.length < lettersMin || (base !== null && isStopWord(foldAccents(word), base))) return
        found.add(this.#numberOf(base, word, rule.form === 'stem' ? stemWord(word, rule.language) : word))
      })
    }
    return Uint32Array.from(found)
  }

  stemOf(word: number): number {
    return this.#stemOf[word]!
  }

  formOf(word: number): string {
    const key = this.#keys[word]!
    return key.slice(key.indexOf(' ') + 1)
  }

  /** The same letters can be words of two languages. A key is a text of its own: a word would keep the whole chunk alive. */
  #numberOf(language: string | null, word: string, stem: string): number {
    const key = `${language} ${word}`
    const known = this.#words.get(key)
    if (known !== undefined) return known
    const number = this.#keys.length
    const folded = foldAccents(stem)
    const stemNumber = this.#stems.get(folded) ?? this.#stems.size
    this.#words.set(key, number)
    this.#stems.set(folded, stemNumber)
    this.#keys.push(key)
    this.#stemOf.push(stemNumber)
    return number
  }
}
