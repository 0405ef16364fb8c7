import { isAlphabetic } from './char-class.ts'
import { foldAccents, normaliseWord } from './fold-word.ts'
import { scanRuns } from './scan-words.ts'

const BEYOND_ASCII = /[^\0-\x7f]/u

/** How a word, known without its accents, is written in one of the texts: with them. The word itself where none has it. */
export function writtenForm(word: string, texts: readonly string[]): string {
  for (const text of texts) {
    if (!BEYOND_ASCII.test(text)) continue
    let written: string | null = null
    scanRuns(text, (start, end, charClass) => {
      if (written !== null || !isAlphabetic(charClass)) return
      const found = text.slice(start, end)
      if (!BEYOND_ASCII.test(found)) return
      const normalised = normaliseWord(found)
      // A letter that has no small form of its own, as İ, stays as it is.
      if (foldAccents(normalised) === word) written = normalised.length > found.length ? found : normalised
    })
    if (written !== null) return written
  }
  return word
}
