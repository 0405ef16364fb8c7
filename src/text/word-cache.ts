/** What was made of words. Two generations: when the young one is full it becomes the old one, and words still in use move back. */
export class WordCache<T> {
  readonly #wordsMax: number
  #young = new Map<string, T>()
  #old = new Map<string, T>()

  /** Of each of the two generations. */
  constructor(wordsMax: number) {
    this.#wordsMax = wordsMax
  }

  get(word: string): T | undefined {
    const made = this.#young.get(word)
    if (made !== undefined) return made
    const aged = this.#old.get(word)
    if (aged !== undefined) this.set(word, aged)
    return aged
  }

  /** A word that is cut out of a text is to be detached, and what is made of it made of that. */
  set(word: string, made: T): void {
    if (this.#young.size >= this.#wordsMax) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(word, made)
  }
}

const NARROW = /^[\0-\xff]*$/u

/**
 * V8 keeps the whole text alive behind a long slice of it; the cache must hold the word alone. In one byte a letter where
 * that is enough: the slices it is compared with are so too, and two of a kind are compared much faster.
 */
export function detach(slice: string): string {
  const encoding = NARROW.test(slice) ? 'latin1' : 'utf16le'
  return Buffer.from(slice, encoding).toString(encoding)
}
