import { CharClass, charClassOf, isAlphabetic } from './char-class.ts'

/**
 * The size that a character adds to a text, in words. The Chinese of XQuAD has 1.6 Han characters for each word of its
 * English. The values for Korean and Thai come from the usual length of their words. Symbols count a little, because an
 * embedding model reads them as tokens.
 */
const HAN_WORDS = 0.6
const HANGUL_WORDS = 0.4
const DICTIONARY_WORDS = 0.22
const SYMBOL_WORDS = 0.25
/** A word longer than this counts as several. */
const WORD_LENGTH = 16

const BLANK = /\s/u

/** Adds up the size of a text character by character. */
export class TextSize {
  words = 0
  #wordLength = 0

  /** Adds the character and returns whether a word may end right before it. */
  add(codePoint: number): boolean {
    const charClass = charClassOf(codePoint)
    if (charClass === CharClass.extend) return false
    if (isAlphabetic(charClass)) {
      if (this.#wordLength % WORD_LENGTH === 0) this.words += 1
      this.#wordLength += 1
      return this.#wordLength === 1
    }
    this.#wordLength = 0
    this.words += wordsOf(charClass, codePoint)
    return charClass === CharClass.han || isBlank(codePoint)
  }
}

function wordsOf(charClass: CharClass, codePoint: number): number {
  if (charClass === CharClass.han || charClass === CharClass.kana) return HAN_WORDS
  if (charClass === CharClass.hangul) return HANGUL_WORDS
  if (charClass === CharClass.dictionary) return DICTIONARY_WORDS
  return isBlank(codePoint) ? 0 : SYMBOL_WORDS
}

function isBlank(codePoint: number): boolean {
  return codePoint === 0x20 || codePoint === 0x0a || (codePoint !== 0 && BLANK.test(String.fromCodePoint(codePoint)))
}

export function sizeInWords(text: string, start: number, end: number): number {
  const size = new TextSize()
  for (let index = start; index < end; ) {
    const codePoint = text.codePointAt(index)!
    size.add(codePoint)
    index += codePoint > 0xffff ? 2 : 1
  }
  return size.words
}
