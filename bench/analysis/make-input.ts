import type { InputDocument, InputPortion } from '../../src/analysis/algorithm.ts'

/**
 * One in this many chunks repeats an earlier one with one more word, as newspapers repeat the stories of news agencies.
 */
const copyEvery = 20
const wordsOfText = 200
const subjects = 300
const portion = 256

export interface MadeInput {
  readonly vectors: Float32Array
  readonly dimensions: number
  readonly texts: readonly string[]
  readonly documents: readonly InputDocument[]
}

/** Makes unit vectors around a few hundred centres, like the vectors of texts on as many subjects. Deterministic. */
function makeVectors(count: number, dimensions: number): Float32Array {
  let state = 12_345
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32 - 0.5
  }
  const centre = Float32Array.from({ length: subjects * dimensions }, next)
  const vectors = new Float32Array(count * dimensions)
  for (let row = 0; row < count; row++) {
    const from = (row % subjects) * dimensions
    let square = 0
    for (let i = 0; i < dimensions; i++) {
      const value = centre[from + i]! + next() * 1.2
      vectors[row * dimensions + i] = value
      square += value * value
    }
    const length = Math.sqrt(square)
    for (let i = 0; i < dimensions; i++) vectors[row * dimensions + i]! /= length
  }
  return vectors
}

/** Returns a word for each number. */
const lettersOf = (number: number): string =>
  Math.floor(1000 + number)
    .toString(26)
    .replace(/./g, (digit) => String.fromCharCode(97 + Number.parseInt(digit, 26)))

/** Makes chunks on a few hundred subjects. A quarter of the words depend on the subject. Deterministic. */
export function makeInput(count: number, dimensions: number): MadeInput {
  const vectors = makeVectors(count, dimensions)
  let state = 1
  const next = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return (state >>> 8) % below
  }
  const texts: string[] = []
  for (let row = 0; row < count; row++) {
    const subject = row % subjects
    const earlier = row - subjects
    if (row % copyEvery === 0 && earlier >= 0) {
      vectors.copyWithin(row * dimensions, earlier * dimensions, (earlier + 1) * dimensions)
      texts.push(`${texts[earlier]!} again${row}`)
      continue
    }
    // A power makes few words common and most rare, as in real texts.
    const word = () => (next(4) === 0 ? lettersOf(30_000 + subject * 40 + next(40)) : lettersOf((next(1000) / 32) ** 3))
    texts.push(Array.from({ length: wordsOfText }, word).join(' '))
  }
  const documents = texts.map(
    (_, row): InputDocument => ({
      datasetId: 'bench',
      platform: `platform${row % 5}`,
      language: 'en',
      region: null,
      contentType: 'article',
      publishedAt: Date.UTC(2026, 0, 1) + next(300) * 86_400_000,
      title: `Title ${row}`,
      authorId: `author${next(1000)}`,
      topics: [`topic${next(50)}`, `topic${next(50)}`],
      tags: [],
      classifications: [],
      score: next(1000),
      metrics: { likes: next(1000), shares: next(100) },
    }),
  )
  return { vectors, dimensions, texts, documents }
}

export async function* portionsOf(input: MadeInput, needsVectors: boolean): AsyncGenerator<InputPortion> {
  const { vectors, dimensions, texts, documents } = input
  const idOf = (prefix: string, row: number) => `${prefix}_01kbench00${String(row).padStart(16, '0')}`
  for (let start = 0; start < texts.length; start += portion) {
    const rows = Array.from({ length: Math.min(portion, texts.length - start) }, (_, i) => start + i)
    const end = start + rows.length
    yield {
      chunkIds: needsVectors ? rows.map((row) => idOf('chk', row)) : [],
      documentIds: rows.map((row) => idOf('doc', row)),
      versionIds: rows.map((row) => idOf('ver', row)),
      vectors: needsVectors ? vectors.slice(start * dimensions, end * dimensions) : new Float32Array(),
      texts: needsVectors ? texts.slice(start, end) : [],
      documents: documents.slice(start, end),
    }
  }
}
