import { splitSentences, type TextRange, trimRange } from './split-sentences.ts'
import { sizeInWords, TextSize } from './text-size.ts'

export type ChunkOptions = {
  /** Sentences are collected up to this size, in words (see `text-size.ts` for scripts without blanks). */
  targetWords: number
  /** No chunk is larger. */
  maxWords: number
  /** A chunk repeats the last sentences of the one before, at most two, if they are no larger than this. */
  overlapWords: number
  /** No chunk is longer, in UTF-16 units, whatever characters it has. */
  maxLength: number
}

/** 300 words of English are about 400 tokens: the built-in embedding model reads 512. */
const DEFAULT_CHUNK_OPTIONS: ChunkOptions = {
  targetWords: 220,
  maxWords: 300,
  overlapWords: 45,
  maxLength: 4000,
}
const OVERLAP_SENTENCES_MAX = 2
/** Half the window around a cut within which characters are kept whole. */
const CUT_WINDOW = 64

type Sentence = TextRange & { words: number }

let graphemes: Intl.Segmenter | undefined

/**
 * Cuts a body into chunks that begin and end with sentences and overlap a little, so that a passage near an edge is whole
 * in one of them. Chunks are ranges of the body, in order, and every character that is not blank is in at least one. An
 * empty or blank body has none. Chunks are made one at a time, so that other work can run between two chunks of a long
 * body.
 */
export function* chunkText(body: string, options: Partial<ChunkOptions> = {}): Generator<TextRange> {
  const limits = { ...DEFAULT_CHUNK_OPTIONS, ...options }
  const sentences = new Sentences(body, limits)
  let first = 0
  /** The first sentence that is in no chunk yet. */
  let fresh = 0
  while (sentences.at(fresh) !== undefined) {
    const next = endOfChunk(sentences, first, fresh, limits)
    yield { start: sentences.at(first)!.start, end: sentences.at(next - 1)!.end }
    if (sentences.at(next) !== undefined) first = startOfOverlap(sentences, first, next, limits)
    fresh = next
  }
}

/** The sentences of a body, found on demand. */
class Sentences {
  /** The end of the last sentence. */
  readonly end: number
  readonly #found: Sentence[] = []
  readonly #rest: Iterator<Sentence>

  constructor(body: string, limits: ChunkOptions) {
    this.end = body.trimEnd().length
    this.#rest = cutSentences(body, limits)
  }

  at(index: number): Sentence | undefined {
    while (this.#found.length <= index) {
      const { value, done } = this.#rest.next()
      if (done) return undefined
      this.#found.push(value)
    }
    return this.#found[index]
  }
}

/**
 * Returns the index after the last sentence of the chunk that starts at `first`. It includes `fresh`, which is known to
 * fit.
 */
function endOfChunk(sentences: Sentences, first: number, fresh: number, limits: ChunkOptions): number {
  const { start } = sentences.at(first)!
  let { words } = sentences.at(first)!
  let next = first + 1
  for (let one = sentences.at(next); one !== undefined; one = sentences.at(++next)) {
    const fits = words + one.words <= limits.maxWords && one.end - start <= limits.maxLength
    const isEnough = next > fresh && words + one.words > limits.targetWords
    if (!fits || (isEnough && !fitsWhole(sentences, next, start, words, limits))) break
    words += one.words
  }
  return next
}

/**
 * Whether all remaining sentences fit too: a chunk slightly over the target is better than a last chunk of one sentence.
 */
function fitsWhole(sentences: Sentences, next: number, start: number, words: number, limits: ChunkOptions): boolean {
  if (sentences.end - start > limits.maxLength) return false
  let total = words
  let index = next
  for (let one = sentences.at(index); one !== undefined && total <= limits.maxWords; one = sentences.at(++index)) {
    total += one.words
  }
  return total <= limits.maxWords
}

/**
 * Returns the first sentence of the next chunk: `next`, or an earlier one if the overlap leaves room for the sentence at
 * `next`.
 */
function startOfOverlap(sentences: Sentences, first: number, next: number, limits: ChunkOptions): number {
  const { words: newWords, end } = sentences.at(next)!
  let start = next
  let words = 0
  while (start - 1 > first && next - start < OVERLAP_SENTENCES_MAX) {
    const sentence = sentences.at(start - 1)!
    words += sentence.words
    if (words > limits.overlapWords || words + newWords > limits.maxWords || end - sentence.start > limits.maxLength)
      break
    start -= 1
  }
  return start
}

/** Returns the sentences of a text. One above the maximum is cut into pieces, between words where possible. */
function* cutSentences(text: string, limits: ChunkOptions): Generator<Sentence> {
  for (const { start, end } of splitSentences(text)) {
    const words = end - start <= limits.maxLength ? sizeInWords(text, start, end) : Number.POSITIVE_INFINITY
    if (words <= limits.maxWords) {
      yield { start, end, words }
      continue
    }
    for (let from = start; from < end; ) {
      const to = endOfPiece(text, from, end, limits)
      const piece = trimRange(text, from, to)
      if (piece.start < piece.end) yield { ...piece, words: sizeInWords(text, piece.start, piece.end) }
      from = to
    }
  }
}

function endOfPiece(text: string, start: number, end: number, limits: ChunkOptions): number {
  const size = new TextSize()
  let wordBreak = start
  let index = start
  while (index < end) {
    const codePoint = text.codePointAt(index)!
    const width = codePoint > 0xffff ? 2 : 1
    const mayBreak = size.add(codePoint)
    if (mayBreak) wordBreak = index
    if (index > start && (size.words > limits.maxWords || index + width - start > limits.maxLength)) {
      // A word break in the first half would leave too small a piece.
      return wordBreak - start > (index - start) / 2 ? wordBreak : wholeCharacters(text, start, index)
    }
    index += width
  }
  return end
}

/** Moves a cut back so that it splits no character of several code points, if anything is left then. */
function wholeCharacters(text: string, start: number, cut: number): number {
  graphemes ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  const from = Math.max(start, cut - CUT_WINDOW)
  const window = text.slice(from, cut + CUT_WINDOW)
  const boundary = from + (graphemes.segment(window).containing(cut - from)?.index ?? cut - from)
  return boundary > start ? boundary : cut
}
