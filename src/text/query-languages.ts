import { CharClass, charClassOf } from './char-class.ts'
import { guessLanguage } from './guess-language.ts'
import { baseLanguage } from './stem-word.ts'

/** The languages of each script other than Latin. */
const languagesOfScript: Readonly<Partial<Record<CharClass, readonly string[]>>> = {
  [CharClass.greek]: ['el'],
  [CharClass.cyrillic]: ['ru', 'uk', 'bg', 'sr', 'mk', 'be', 'kk', 'ky', 'mn', 'tg', 'tt'],
  [CharClass.arabic]: ['ar', 'fa', 'ur', 'ps', 'sd', 'ug', 'ku'],
  [CharClass.armenian]: ['hy'],
  [CharClass.devanagari]: ['hi', 'mr', 'ne', 'sa'],
  [CharClass.tamil]: ['ta'],
  [CharClass.letter]: ['he', 'yi', 'ka', 'am', 'ti', 'bn', 'as', 'gu', 'pa', 'te', 'kn', 'ml', 'si', 'or', 'bo', 'dv'],
  [CharClass.han]: ['zh', 'ja'],
  [CharClass.kana]: ['ja'],
  [CharClass.hangul]: ['ko'],
  [CharClass.dictionary]: ['th', 'lo', 'km', 'my'],
}

/** The number of UTF-16 units that are examined. */
const lengthMax = 400

/**
 * Returns the languages that a query may be in: by its function words, else by its script, else those of the language
 * filter; null if none of these is known. The query comes before the filter, because the filter names the language of
 * the texts: a Chinese question can be for English texts.
 */
export function queryLanguages(text: string, filter: readonly string[] | null): readonly string[] | null {
  const guessed = guessLanguage(text)
  if (guessed !== null) return [guessed]
  const ofScript = languagesOfScript[mainScript(text)]
  if (ofScript !== undefined) return ofScript
  const named = (filter ?? []).map(baseLanguage).filter((language) => language !== null)
  return named.length > 0 ? [...new Set(named)] : null
}

/** The script of most letters. Kana outweighs the Han characters among it. */
function mainScript(text: string): CharClass {
  const letters = new Map<CharClass, number>()
  for (const character of text.slice(0, lengthMax)) {
    const script = charClassOf(character.codePointAt(0)!)
    if (script >= CharClass.latin) letters.set(script, (letters.get(script) ?? 0) + 1)
  }
  if (letters.has(CharClass.kana)) return CharClass.kana
  let main: CharClass = CharClass.unknown
  for (const [script, count] of letters) if (count > (letters.get(main) ?? 0)) main = script
  return main
}
