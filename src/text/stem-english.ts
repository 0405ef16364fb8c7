/**
 * The Snowball English stemmer, Porter2 (https://snowballstem.org/algorithms/english/stemmer.html), for normalised words.
 * The package for the other languages has only an approximation of the first Porter algorithm for English, which
 * separates `distribution` from `distributed`.
 *
 * R1 is the part after the first consonant that follows a vowel, R2 the same within R1. A `y` that acts as a consonant is
 * written `Y` during the steps.
 */
const VOWEL = /[aeiouy]/u
const SHORT_SYLLABLE = /(?:[^aeiouy][aeiouy][^aeiouywxY]|^[aeiouy][^aeiouy]|^past)$/u
const DOUBLE = /(?:bb|dd|ff|gg|mm|nn|pp|rr|tt)$/u
const R1_EXCEPTIONS = /^(?:gener|commun|arsen|past|univers|later|emerg|organ|inter)/u
const REGION = /[aeiouy][^aeiouy]/u

const WHOLE_WORDS: ReadonlyMap<string, string> = new Map([
  ['skis', 'ski'],
  ['skies', 'sky'],
  ['idly', 'idl'],
  ['gently', 'gentl'],
  ['ugly', 'ugli'],
  ['early', 'earli'],
  ['only', 'onli'],
  ['singly', 'singl'],
  ...['sky', 'news', 'howe', 'atlas', 'cosmos', 'bias', 'andes'].map((word) => [word, word] as const),
])
const KEPT_AFTER_PLURAL = new Set([
  'inning',
  'outing',
  'canning',
  'herring',
  'earring',
  'evening',
  'proceed',
  'exceed',
  'succeed',
])

const STEP_2: readonly (readonly [string, string])[] = [
  ['ization', 'ize'],
  ['ational', 'ate'],
  ['fulness', 'ful'],
  ['ousness', 'ous'],
  ['iveness', 'ive'],
  ['tional', 'tion'],
  ['biliti', 'ble'],
  ['lessli', 'less'],
  ['entli', 'ent'],
  ['ation', 'ate'],
  ['alism', 'al'],
  ['aliti', 'al'],
  ['ousli', 'ous'],
  ['iviti', 'ive'],
  ['fulli', 'ful'],
  ['ogist', 'og'],
  ['enci', 'ence'],
  ['anci', 'ance'],
  ['abli', 'able'],
  ['izer', 'ize'],
  ['ator', 'ate'],
  ['alli', 'al'],
  ['bli', 'ble'],
  ['ogi', 'og'],
  ['li', ''],
]
const STEP_3: readonly (readonly [string, string])[] = [
  ['ational', 'ate'],
  ['tional', 'tion'],
  ['alize', 'al'],
  ['icate', 'ic'],
  ['iciti', 'ic'],
  ['ative', ''],
  ['ical', 'ic'],
  ['ness', ''],
  ['ful', ''],
]
const STEP_4 = [
  'ement',
  'ance',
  'ence',
  'able',
  'ible',
  'ment',
  'ant',
  'ent',
  'ism',
  'ate',
  'iti',
  'ous',
  'ive',
  'ize',
  'ion',
  'al',
  'er',
  'ic',
]

function regionAfter(word: string, from: number): number {
  const at = word.slice(from).search(REGION)
  return at === -1 ? word.length : from + at + 2
}

/** A word is short if it ends in a short syllable and R1 is empty. */
function isShort(word: string, r1: number): boolean {
  return r1 >= word.length && SHORT_SYLLABLE.test(word)
}

function dropPlural(word: string): string {
  if (word.endsWith('sses')) return word.slice(0, -2)
  if (word.endsWith('ied') || word.endsWith('ies')) return word.slice(0, word.length > 4 ? -2 : -1)
  if (/(?:us|ss)$/u.test(word) || !word.endsWith('s')) return word
  return VOWEL.test(word.slice(0, -2)) ? word.slice(0, -1) : word
}

function dropTense(word: string, r1: number): string {
  const eed = /eed(?:ly)?$/u.exec(word)
  if (eed !== null) return eed.index >= r1 ? `${word.slice(0, eed.index)}ee` : word
  const suffix = /(?:ed|ing)(?:ly)?$/u.exec(word)
  if (suffix === null) return word
  const stem = word.slice(0, suffix.index)
  if (suffix[0] === 'ing' && /^[^aeiouy]y$/u.test(stem)) return `${stem.slice(0, -1)}ie`
  if (!VOWEL.test(stem)) return word
  if (/(?:at|bl|iz)$/u.test(stem)) return `${stem}e`
  if (DOUBLE.test(stem)) return /^[aeo](?:bb|dd|ff|gg|mm|nn|pp|rr|tt)$/u.test(stem) ? stem : stem.slice(0, -1)
  return isShort(stem, r1) ? `${stem}e` : stem
}

function deriveStep2(word: string, r1: number): string {
  const rule = STEP_2.find(([suffix]) => word.endsWith(suffix))
  if (rule === undefined) return word
  const [suffix, replacement] = rule
  const stem = word.slice(0, -suffix.length)
  if (stem.length < r1) return word
  if (suffix === 'ogi' && !stem.endsWith('l')) return word
  if (suffix === 'li' && !/[cdeghkmnrt]$/u.test(stem)) return word
  return stem + replacement
}

function deriveStep3(word: string, r1: number, r2: number): string {
  const rule = STEP_3.find(([suffix]) => word.endsWith(suffix))
  if (rule === undefined) return word
  const [suffix, replacement] = rule
  const stem = word.slice(0, -suffix.length)
  return stem.length < (suffix === 'ative' ? r2 : r1) ? word : stem + replacement
}

function dropStep4(word: string, r2: number): string {
  const suffix = STEP_4.find((ending) => word.endsWith(ending))
  if (suffix === undefined) return word
  const stem = word.slice(0, -suffix.length)
  if (stem.length < r2 || (suffix === 'ion' && !/[st]$/u.test(stem))) return word
  return stem
}

function dropFinal(word: string, r1: number, r2: number): string {
  const stem = word.slice(0, -1)
  if (word.endsWith('e')) {
    return stem.length >= r2 || (stem.length >= r1 && !SHORT_SYLLABLE.test(stem)) ? stem : word
  }
  return word.endsWith('ll') && stem.length >= r2 ? stem : word
}

export function stemEnglish(word: string): string {
  if (word.length <= 2) return word
  const known = WHOLE_WORDS.get(word)
  if (known !== undefined) return known
  const marked = word.replace(/^y|(?<=[aeiouy])y/gu, 'Y')
  const exception = R1_EXCEPTIONS.exec(marked)
  const r1 = exception === null ? regionAfter(marked, 0) : exception[0].length
  const r2 = regionAfter(marked, r1)
  const singular = dropPlural(marked)
  if (KEPT_AFTER_PLURAL.has(singular)) return singular
  const bare = dropTense(singular, r1).replace(/(?<=.[^aeiouy])[yY]$/u, 'i')
  const derived = deriveStep3(deriveStep2(bare, r1), r1, r2)
  return dropFinal(dropStep4(derived, r2), r1, r2).replaceAll('Y', 'y')
}
