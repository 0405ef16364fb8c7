/**
 * The class of a character decides how the scanner treats it. The alphabetic classes stand for scripts that have a
 * stemmer, so a word's first character also says which stemmers can apply.
 */
export const CharClass = {
  unknown: 0,
  other: 1,
  /** Combining marks and joiners: they belong to the character before them. */
  extend: 2,
  digit: 3,
  latin: 4,
  greek: 5,
  cyrillic: 6,
  arabic: 7,
  armenian: 8,
  devanagari: 9,
  tamil: 10,
  /** Letters of every other alphabet. */
  letter: 11,
  han: 12,
  kana: 13,
  hangul: 14,
  /** Scripts written without spaces, in which only a dictionary can find words: Thai, Lao, Khmer, Burmese. */
  dictionary: 15,
} as const

export type CharClass = (typeof CharClass)[keyof typeof CharClass]

const PATTERNS: readonly (readonly [RegExp, CharClass])[] = [
  // Unicode classes halfwidth voicing marks as letters, but NFKC folds them into the kana before them.
  [/^[\u{ff9e}\u{ff9f}]/u, CharClass.extend],
  // Vowels and finals of Korean written in single jamo: NFKC joins them with the initial into a syllable.
  [/^[\u{1160}-\u{11ff}]/u, CharClass.extend],
  // The zero-width space separates words; the other invisible characters do not.
  [/^\u{200b}/u, CharClass.other],
  // Fractions are excluded, because NFKC would make `6½` the number 612.
  [/^[\u{bc}-\u{be}\u{2150}-\u{215f}\u{2189}]/u, CharClass.other],
  [/^\p{Nd}/u, CharClass.digit],
  [/^[\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u, CharClass.dictionary],
  [/^[\p{M}\p{Default_Ignorable_Code_Point}]/u, CharClass.extend],
  [/^[^\p{L}\p{N}]/u, CharClass.other],
  [/^[\p{sc=Han}]/u, CharClass.han],
  [/^[\p{scx=Hiragana}\p{scx=Katakana}]/u, CharClass.kana],
  [/^\p{sc=Hangul}/u, CharClass.hangul],
  [/^\p{sc=Latin}/u, CharClass.latin],
  [/^\p{sc=Greek}/u, CharClass.greek],
  [/^\p{sc=Cyrillic}/u, CharClass.cyrillic],
  [/^\p{sc=Arabic}/u, CharClass.arabic],
  [/^\p{sc=Armenian}/u, CharClass.armenian],
  [/^\p{sc=Devanagari}/u, CharClass.devanagari],
  [/^\p{sc=Tamil}/u, CharClass.tamil],
]

/** Filled when a character is first seen: 1.1 MB once, instead of a regular expression for every character. */
const classes = new Uint8Array(0x110000)

function classify(codePoint: number): CharClass {
  const character = String.fromCodePoint(codePoint)
  const found = PATTERNS.find(([pattern]) => pattern.test(character))?.[1] ?? CharClass.letter
  classes[codePoint] = found
  return found
}

export function charClassOf(codePoint: number): CharClass {
  const known = classes[codePoint] as CharClass
  return known === CharClass.unknown ? classify(codePoint) : known
}

/** Letters and digits of scripts that separate words. */
export function isAlphabetic(charClass: CharClass): boolean {
  return charClass >= CharClass.digit && charClass <= CharClass.letter
}

/** The bit in which the two cases of a plain letter differ. */
export const CASE_BIT = 0x20

/** The letters a..z of either case. */
export function isPlainLetter(code: number): boolean {
  const lower = code | CASE_BIT
  return lower >= 0x61 && lower <= 0x7a
}

export function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

/** The blanks and control characters of ASCII. They always end a word. */
export function isBlank(code: number): boolean {
  return code <= 0x20
}
