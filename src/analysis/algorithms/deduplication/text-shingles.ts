import { createHash } from 'node:crypto'
import { CharClass } from '../../../text/char-class.ts'
import { normaliseWord } from '../../../text/fold-word.ts'
import { scanRuns } from '../../../text/scan-words.ts'

/** Words in one shingle. */
const shingleWords = 3

/** The words of a text without case, width and punctuation; of scripts that are written without blanks, the characters. */
export function wordsOf(text: string): string[] {
  const words: string[] = []
  scanRuns(text, (start, end, charClass) => {
    const word = normaliseWord(text.slice(start, end))
    if (charClass >= CharClass.han) words.push(...word)
    else if (word !== '') words.push(word)
  })
  return words
}

/** The same for two texts of the same words in the same order; of texts without any word, for those that look the same. */
export function digestOf(words: readonly string[], text: string): string {
  const normalised = words.length > 0 ? words.join(' ') : `\n${text.normalize('NFKC').trim()}`
  return createHash('sha256').update(normalised).digest('latin1')
}

/**
 * Every run of three words, each once, ascending, as fingerprints of 32 bits; of a shorter text the whole. Two runs with
 * the same fingerprint are rare, and all that they can do is let the vectors decide alone.
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

/** FNV-1a over the code units. */
function fingerprint(word: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < word.length; i++) hash = Math.imul(hash ^ word.charCodeAt(i), 0x01000193)
  return hash
}

function distinct(ascending: Uint32Array): Uint32Array {
  return ascending.filter((value, i) => i === 0 || value !== ascending[i - 1])
}
