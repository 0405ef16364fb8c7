import { isAlphabetic } from './char-class.ts'
import { scanRuns } from './scan-words.ts'

/** Letters that no normalisation form decomposes. */
const UNDECOMPOSED: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ł: 'l',
  ħ: 'h',
  ı: 'i',
  ŋ: 'n',
  ς: 'σ',
  // Persian and Urdu keyboards type other code points for the same Arabic letters.
  ک: 'ك',
  ی: 'ي',
  ى: 'ي',
}

/**
 * Words that only need lower case, which are most words of most texts: their letters, in Latin, Greek, Cyrillic, Hebrew
 * and Arabic, are the same in every normalisation form.
 */
const PLAIN = /^[A-Za-zÀ-ÖØ-öø-įĴ-ľŁ-ňŊ-žΆΈ-ΊΌΎ-ΡΣ-ώЀ-ҁҊ-ӿא-תء-غف-يپچژکگی]*$/u
const NEEDS_FOLDING = /[^\0-\x7f]/u
const UNDECOMPOSED_LETTERS = new RegExp(`[${Object.keys(UNDECOMPOSED).join('')}]`, 'gu')
/**
 * Marks are removed only if they are accents. A mark of Thai, Devanagari or kana is a vowel or changes the consonant, and
 * й, ї and ў are separate letters.
 */
const ACCENTS =
  /(?<=[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Arabic}\p{sc=Hebrew}]\p{M}*)(?!(?<=[иіу])[\u0306\u0308])\p{Mn}/gu
/** Modifier letters are apostrophes, glottal stops and tone marks, which writers often omit. */
const NOT_IN_TERMS = /[^\p{L}\p{M}\p{N}.,]|[\u02b0-\u02ff]/gu
const DIGIT_BLOCKS = [0x660, 0x6f0, 0x966, 0x9e6, 0xe50]
const FOREIGN_DIGITS = /[\u0660-\u0669\u06f0-\u06f9\u0966-\u096f\u09e6-\u09ef\u0e50-\u0e59]/gu
const THOUSANDS = /^\d{1,3}(?:[.,]\d{3})+$/u
/** `1,299.99` and `1.299,99`: the decimal mark differs from the thousands separator. */
const THOUSANDS_AND_FRACTION = /^(\d{1,3}([.,])\d{3}(?:\2\d{3})*)(?!\2)[.,](\d+)$/u
/** In Devanagari a nasal before a consonant can be written as a dot, and many writers omit the dot below a letter. */
const NASALS = /[\u0919\u091e\u0923\u0928\u092e]\u094d(?=[\u0915-\u0939])|\u0901/gu
const NUKTA = /\u093c/gu

function asciiDigit(digit: string): string {
  const code = digit.charCodeAt(0)
  const zero = DIGIT_BLOCKS.findLast((block) => block <= code) ?? code
  return String(code - zero)
}

/**
 * Normalises compatibility forms and case, and removes characters that are not part of a word. Keeps accents, for the
 * stemmers.
 */
export function normaliseWord(word: string): string {
  if (PLAIN.test(word)) return word.toLowerCase()
  const lower = word.normalize('NFKC').toLowerCase()
  if (!NEEDS_FOLDING.test(lower)) return normaliseSeparators(lower.replace(/'s?$/u, ''))
  const bare = lower
    .replace(/['’ʼ]s?$/u, '')
    .replace(NOT_IN_TERMS, '')
    .replace(FOREIGN_DIGITS, asciiDigit)
    .replaceAll('ـ', '')
  return normaliseSeparators(bare.normalize('NFC'))
}

/** `1,000` and `1.000` are `1000`; `1.299,99` is `1299.99`; `u.s.a` is `usa`; `2.5` stays. */
function normaliseSeparators(word: string): string {
  if (!word.includes('.') && !word.includes(',')) return word
  if (THOUSANDS.test(word)) return word.replace(/[.,]/gu, '')
  const amount = THOUSANDS_AND_FRACTION.exec(word)
  if (amount !== null) return `${amount[1]!.replaceAll(amount[2]!, '')}.${amount[3]}`
  return word.replace(/(?<!\d)[.,]|[.,](?!\d)/gu, '')
}

/** Removes the accents of a normalised word. */
export function foldAccents(word: string): string {
  if (!NEEDS_FOLDING.test(word)) return word
  return word
    .normalize('NFD')
    .replace(ACCENTS, '')
    .replace(NUKTA, '')
    .replace(NASALS, '\u0902')
    .normalize('NFC')
    .replace(UNDECOMPOSED_LETTERS, (letter) => UNDECOMPOSED[letter]!)
}

/** Returns a folded word as one of the texts writes it, with its accents; the word itself if no text has it. */
export function writtenForm(word: string, texts: readonly string[]): string {
  for (const text of texts) {
    if (!NEEDS_FOLDING.test(text)) continue
    let written: string | null = null
    scanRuns(text, (start, end, charClass) => {
      if (written !== null || !isAlphabetic(charClass)) return
      const found = text.slice(start, end)
      if (!NEEDS_FOLDING.test(found)) return
      const normalised = normaliseWord(found)
      // A letter without its own lower case form, such as İ, stays as it is.
      if (foldAccents(normalised) === word) written = normalised.length > found.length ? found : normalised
    })
    if (written !== null) return written
  }
  return word
}
