import { stemmer as arabic } from '@orama/stemmers/arabic'
import { stemmer as armenian } from '@orama/stemmers/armenian'
import { stemmer as bulgarian } from '@orama/stemmers/bulgarian'
import { stemmer as danish } from '@orama/stemmers/danish'
import { stemmer as dutch } from '@orama/stemmers/dutch'
import { stemmer as finnish } from '@orama/stemmers/finnish'
import { stemmer as french } from '@orama/stemmers/french'
import { stemmer as german } from '@orama/stemmers/german'
import { stemmer as greek } from '@orama/stemmers/greek'
import { stemmer as hungarian } from '@orama/stemmers/hungarian'
import { stemmer as hindi } from '@orama/stemmers/indian'
import { stemmer as indonesian } from '@orama/stemmers/indonesian'
import { stemmer as irish } from '@orama/stemmers/irish'
import { stemmer as italian } from '@orama/stemmers/italian'
import { stemmer as lithuanian } from '@orama/stemmers/lithuanian'
import { stemmer as nepali } from '@orama/stemmers/nepali'
import { stemmer as norwegian } from '@orama/stemmers/norwegian'
import { stemmer as portuguese } from '@orama/stemmers/portuguese'
import { stemmer as romanian } from '@orama/stemmers/romanian'
import { stemmer as russian } from '@orama/stemmers/russian'
import { stemmer as serbian } from '@orama/stemmers/serbian'
import { stemmer as spanish } from '@orama/stemmers/spanish'
import { stemmer as swedish } from '@orama/stemmers/swedish'
import { stemmer as tamil } from '@orama/stemmers/tamil'
import { stemmer as turkish } from '@orama/stemmers/turkish'
import { stemmer as ukrainian } from '@orama/stemmers/ukrainian'
import { CharClass } from './char-class.ts'
import { stemEnglish } from './stem-english.ts'

/** The size of each cache. Language codes come from outside, so a stream of invented ones must not fill the memory. */
const LANGUAGES_MAX = 512

type Stemmer = (word: string) => string

/**
 * The article, with a conjunction or preposition written with it, if a word is left after it. In `الله` it is part of the
 * name.
 */
const ARABIC_ARTICLE = /^(?:ال(?=..)|لل(?=..)|[وفبك]ال(?=...))(?!له$)/u

/**
 * Removes the article before stemming. Snowball removes endings first, and then the article only if more than three
 * letters are left, so `السنة` and `سنة` would have different stems. nDCG@10 on XQuAD: .939 with Snowball alone, .942
 * with the article removed first, .938 with Light10.
 */
function stemArabic(word: string): string {
  return arabic(word.replace(ARABIC_ARTICLE, ''))
}

const { latin, cyrillic, devanagari } = CharClass

/** By ISO 639-1 code: the scripts that the language is written in, and its stemmer. */
const STEMMERS: ReadonlyMap<string, { scripts: readonly CharClass[]; stem: Stemmer }> = new Map([
  ['ar', { scripts: [CharClass.arabic], stem: stemArabic }],
  ['bg', { scripts: [cyrillic], stem: bulgarian }],
  ['da', { scripts: [latin], stem: danish }],
  ['de', { scripts: [latin], stem: german }],
  ['el', { scripts: [CharClass.greek], stem: greek }],
  ['en', { scripts: [latin], stem: stemEnglish }],
  ['es', { scripts: [latin], stem: spanish }],
  ['fi', { scripts: [latin], stem: finnish }],
  ['fr', { scripts: [latin], stem: french }],
  ['ga', { scripts: [latin], stem: irish }],
  ['hi', { scripts: [devanagari], stem: hindi }],
  ['hu', { scripts: [latin], stem: hungarian }],
  ['hy', { scripts: [CharClass.armenian], stem: armenian }],
  ['id', { scripts: [latin], stem: indonesian }],
  ['it', { scripts: [latin], stem: italian }],
  ['lt', { scripts: [latin], stem: lithuanian }],
  ['ne', { scripts: [devanagari], stem: nepali }],
  ['nl', { scripts: [latin], stem: dutch }],
  ['no', { scripts: [latin], stem: norwegian }],
  ['pt', { scripts: [latin], stem: portuguese }],
  ['ro', { scripts: [latin], stem: romanian }],
  ['ru', { scripts: [cyrillic], stem: russian }],
  // Transliterates Cyrillic words to Latin letters, so that both spellings have the same stem.
  ['sr', { scripts: [cyrillic, latin], stem: serbian }],
  ['sv', { scripts: [latin], stem: swedish }],
  ['ta', { scripts: [CharClass.tamil], stem: tamil }],
  ['tr', { scripts: [latin], stem: turkish }],
  ['uk', { scripts: [cyrillic], stem: ukrainian }],
])

/** Languages that the stemmer of another one serves, and languages with two codes. */
const ALIASES: Readonly<Record<string, string>> = {
  nb: 'no',
  nn: 'no',
  hr: 'sr',
  bs: 'sr',
  sh: 'sr',
  in: 'id',
  ms: 'id',
  iw: 'he',
}

/** The scripts of languages without a stemmer, so that a Latin word in such a text is recognised as foreign. */
const UNSTEMMED_SCRIPTS: Readonly<Record<string, CharClass>> = {
  ...Object.fromEntries(['fa', 'ur', 'ps', 'ku', 'ug', 'sd'].map((code) => [code, CharClass.arabic])),
  ...Object.fromEntries(['be', 'mk', 'kk', 'ky', 'mn', 'tg', 'tt'].map((code) => [code, cyrillic])),
  ...Object.fromEntries(['mr', 'sa'].map((code) => [code, devanagari])),
  ...Object.fromEntries(['zh', 'ja'].map((code) => [code, CharClass.han])),
  ...Object.fromEntries(['th', 'lo', 'km', 'my'].map((code) => [code, CharClass.dictionary])),
  ...Object.fromEntries(
    ['he', 'yi', 'ka', 'am', 'bn', 'gu', 'pa', 'te', 'kn', 'ml', 'si', 'or', 'bo'].map((code) => [
      code,
      CharClass.letter,
    ]),
  ),
  ko: CharClass.hangul,
}

/** The language assumed for a word whose script is not the document's, or if the language is unknown. */
const DEFAULT_LANGUAGES: ReadonlyMap<CharClass, string> = new Map<CharClass, string>([
  [latin, 'en'],
  [CharClass.greek, 'el'],
  [cyrillic, 'ru'],
  [CharClass.arabic, 'ar'],
  [CharClass.armenian, 'hy'],
  [devanagari, 'hi'],
  [CharClass.tamil, 'ta'],
])

/** Used for every text, so each language is parsed once. */
const baseLanguages = new Map<string, string | null>()

/** `en-GB`, `EN` and `en` are `en`. Returns null for anything that is not a language code. */
export function baseLanguage(language: string | null): string | null {
  if (language === null) return null
  let base = baseLanguages.get(language)
  if (base === undefined) {
    const code = /^[a-z]{2,3}(?=$|[-_])/u.exec(language.toLowerCase())?.[0]
    base = code === undefined ? null : (ALIASES[code] ?? code)
    if (baseLanguages.size < LANGUAGES_MAX) baseLanguages.set(language, base)
  }
  return base
}

/**
 * How a word becomes terms: by its stem in a language, by the whole word and its first letters (a language without a
 * stemmer), or unchanged. Equal rules are the same object.
 */
export type StemRule = { readonly form: 'stem' | 'prefix' | 'whole'; readonly language: string | null }

const rules = new Map<string, StemRule>()

function rule(form: StemRule['form'], language: string | null): StemRule {
  const key = `${form} ${language}`
  const known = rules.get(key)
  if (known !== undefined) return known
  const made = { form, language }
  if (rules.size < LANGUAGES_MAX) rules.set(key, made)
  return made
}

/** By language, then by script. */
const rulesOf = new Map<string | null, (StemRule | undefined)[]>()

export const wholeWord: StemRule = { form: 'whole', language: null }

/** Returns the rule for a word of this script in a text of this language (as `baseLanguage` returns it). */
export function stemRule(language: string | null, script: CharClass): StemRule {
  let known = rulesOf.get(language)
  if (known === undefined) {
    known = []
    if (rulesOf.size < LANGUAGES_MAX) rulesOf.set(language, known)
  }
  known[script] ??= findRule(language, script)
  return known[script]
}

function findRule(language: string | null, script: CharClass): StemRule {
  if (script === CharClass.digit) return wholeWord
  if (language !== null) {
    const scripts = STEMMERS.get(language)?.scripts
    if (scripts?.includes(script)) return rule('stem', language)
    const own = scripts?.[0] ?? UNSTEMMED_SCRIPTS[language] ?? latin
    if (own === script) return rule('prefix', language)
  }
  const usual = DEFAULT_LANGUAGES.get(script)
  return usual === undefined ? rule('prefix', null) : rule('stem', usual)
}

/** Stems a normalised word. Words with digits are names of things and keep their form. */
export function stemWord(word: string, language: string | null): string {
  if (language === null || /\d/u.test(word)) return word
  return STEMMERS.get(language)?.stem(word) || word
}
