import { createHash } from 'node:crypto'
import { CharClass } from '../../../text/char-class.ts'
import { normaliseWord } from '../../../text/fold-word.ts'
import { scanRuns } from '../../../text/scan-words.ts'

/** Words per shingle. */
const shingleWords = 3

/**
 * Returns the words of a text, normalised for case and width, without punctuation. Scripts without spaces give
 * characters.
 */
export function wordsOf(text: string): string[] {
  const words: string[] = []
  scanRuns(text, (start, end, charClass) => {
    const word = normaliseWord(text.slice(start, end))
    if (charClass >= CharClass.han) words.push(...word)
    else if (word !== '') words.push(word)
  })
  return words
}

/**
 * Returns the same digest for two texts with the same words in the same order. Texts without any word are compared
 * after NFKC normalisation.
 */
export function digestOf(words: readonly string[], text: string): string {
  const normalised = words.length > 0 ? words.join(' ') : `\n${text.normalize('NFKC').trim()}`
  return createHash('sha256').update(normalised).digest('latin1')
}

/**
 * Returns every sequence of three words, each once, ascending, as 32-bit fingerprints. A shorter text is one sequence.
 * Collisions are rare, and then the vectors decide.
 */
export function shinglesOf(words: readonly string[]): Uint32Array {
  const fingerprints = words.map(fingerprint)
  const count = Math.max(1, words.length - shingleWords + 1)
  const all = new Uint32Array(words.length === 0 ? 0 : count)
  for (let i = 0; i < all.length; i++) {
    let mixed = 0
    for (const one of fingerprints.slice(i, i + shingleWords)) {
      mixed = Math.imul(mixed ^ one, 0x85ebca6b)
      mixed ^= mixed >>> 13
    }
    all[i] = mixed
  }
  return distinct(all.sort())
}

/** FNV-1a over the UTF-16 code units. */
function fingerprint(word: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < word.length; i++) hash = Math.imul(hash ^ word.charCodeAt(i), 0x01000193)
  return hash
}

function distinct(ascending: Uint32Array): Uint32Array {
  return ascending.filter((value, i) => i === 0 || value !== ascending[i - 1])
}
