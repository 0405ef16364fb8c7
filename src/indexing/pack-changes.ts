import { readTerms } from '../text/analyse.ts'
import type { WordTerms } from '../text/word-terms.ts'
import type { IndexChange } from './fed-index.ts'
import type { PackedChanges, PackedField, PackedVector } from './packed-changes.ts'

let lastId = 0

/** Analyses fields into one portion. */
export class ChangePacker {
  /** Distinguishes this packer from all others of the thread. */
  readonly #id = ++lastId
  readonly #numbers = new Map<string, number>()
  #terms = new Uint32Array(4096)
  #positions = new Uint32Array(4096)
  #used = 0

  readonly read = (text: string, language: string | null): PackedField => {
    const from = this.#used
    const length = readTerms(text, language, this.#addTerm, this.#addWord)
    return [from, this.#used, length]
  }

  pack(changes: readonly IndexChange<PackedField>[]): PackedChanges {
    const vectors: PackedVector[] = []
    const withoutVectors = changes.map((change) => {
      if (change.kind !== 'put_version' || change.chunks.every((chunk) => chunk.vectors.length === 0)) return change
      for (const chunk of change.chunks) {
        for (const vector of chunk.vectors) vectors.push({ ...vector, chunkId: chunk.chunkId })
      }
      return { ...change, chunks: change.chunks.map((chunk) => ({ ...chunk, vectors: [] })) }
    })
    return {
      changes: JSON.stringify(withoutVectors),
      ...textOf([...this.#numbers.keys()]),
      terms: this.#terms.slice(0, this.#used),
      positions: this.#positions.slice(0, this.#used),
      vectors,
    }
  }

  readonly #addTerm = (term: string, position: number): void => this.#add(this.#numberOf(term), position)

  /** The terms of a word are numbered once for each portion, and the word caches the numbers. */
  readonly #addWord = (word: WordTerms, position: number): void => {
    const { terms, numbers } = word
    if (word.numberedBy !== this.#id) {
      for (let i = 0; i < terms.length; i++) numbers[i] = this.#numberOf(terms[i]!)
      word.numberedBy = this.#id
    }
    for (let i = 0; i < terms.length; i++) this.#add(numbers[i]!, position)
  }

  #numberOf(term: string): number {
    const known = this.#numbers.get(term)
    if (known !== undefined) return known
    const number = this.#numbers.size
    this.#numbers.set(term, number)
    return number
  }

  #add(number: number, position: number): void {
    if (this.#used === this.#terms.length) {
      this.#terms = grown(this.#terms)
      this.#positions = grown(this.#positions)
    }
    this.#terms[this.#used] = number
    this.#positions[this.#used++] = position
  }
}

function grown(words: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(words.length * 2)
  larger.set(words)
  return larger
}

function textOf(terms: readonly string[]): Pick<PackedChanges, 'termText' | 'termStarts'> {
  const termStarts = new Uint32Array(terms.length + 1)
  const bytes = new Uint8Array(terms.reduce((sum, term) => sum + term.length * 3, 0))
  let used = 0
  for (let i = 0; i < terms.length; i++) {
    used = writeText(terms[i]!, bytes, used)
    termStarts[i + 1] = used
  }
  return { termText: bytes.slice(0, used), termStarts }
}

const encoder = new TextEncoder()

/** Writes UTF-8. A call of the encoder takes longer than this loop for most terms. Returns the end. */
function writeText(term: string, bytes: Uint8Array, from: number): number {
  for (let i = 0; i < term.length; i++) {
    const code = term.charCodeAt(i)
    if (code >= 0x80) return from + encoder.encodeInto(term, bytes.subarray(from)).written
    bytes[from + i] = code
  }
  return from + term.length
}
