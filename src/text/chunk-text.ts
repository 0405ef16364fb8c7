import { splitSentences, type TextRange, trimRange } from './split-sentences.ts'
import { sizeInWords, TextSize } from './text-size.ts'

export type ChunkOptions = {
  /** Sentences are gathered up to this size, in words (see `text-size.ts` for scripts without blanks). */
  targetWords: number
  /** No chunk is larger. */
  maxWords: number
  /** A chunk begins with the last sentences of the one before, two at most, if they are no larger than this. */
  overlapWords: number
  /** No chunk is longer, in UTF-16 units, whatever it is made of. */
  maxLength: number
}

/** 300 words of English are some 400 tokens: the built-in embedding model reads 512. */
const DEFAULT_CHUNK_OPTIONS: ChunkOptions = {
  targetWords: 220,
  maxWords: 300,
  overlapWords: 45,
  maxLength: 4000,
}
const OVERLAP_SENTENCES_MAX = 2
/** Half the window around a cut in which characters are kept whole. */
const CUT_WINDOW = 64

type Sentence = TextRange & { words: number }

let graphemes: Intl.Segmenter | undefined

/**
 * Cuts a body into chunks that begin and end with sentences and overlap a little, so that a passage near an edge is
 * whole in one of them. Chunks are ranges of the body, in order; every character that is not blank lies in one.
 * An empty or blank body has none. A chunk is cut when it is asked for, so that between two of a long body there is time
 * for other work.
 */
export function* chunkText(body: string, options: Partial<ChunkOptions> = {}): Generator<TextRange> {
  const limits = { ...DEFAULT_CHUNK_OPTIONS, ...options }
  const sentences = new Sentences(body, limits)
  let first = 0
  /** The first sentence that no chunk has yet. */
  let fresh = 0
  while (sentences.at(fresh) !== undefined) {
    const next = endOfChunk(sentences, first, fresh, limits)
    yield { start: sentences.at(first)!.start, end: sentences.at(next - 1)!.end }
    if (sentences.at(next) !== undefined) first = startOfOverlap(sentences, first, next, limits)
    fresh = next
  }
}

/** The sentences of a body, found as they are asked for. */
class Sentences {
  /** Where the last one ends. */
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

/** The sentence after the last one that the chunk from `first` takes in: `fresh` at least, which is known to fit. */
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

/** Whether everything that is left fits too: a last chunk of one sentence is worth less than a chunk over the target. */
function fitsWhole(sentences: Sentences, next: number, start: number, words: number, limits: ChunkOptions): boolean {
  if (sentences.end - start > limits.maxLength) return false
  let total = words
  let index = next
  for (let one = sentences.at(index); one !== undefined && total <= limits.maxWords; one = sentences.at(++index)) {
    total += one.words
  }
  return total <= limits.maxWords
}

/** Where the next chunk starts: at `next`, or before it by the overlap that leaves room for the sentence at `next`. */
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

/** The sentences of a text; one over the maximum comes in pieces that end between words where it has any. */
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
      // A word break in the first half would leave a piece too small to be worth it.
      return wordBreak - start > (index - start) / 2 ? wordBreak : wholeCharacters(text, start, index)
    }
    index += width
  }
  return end
}

/** Moves a cut back so that it splits no character that is made of several code points, if that leaves anything. */
function wholeCharacters(text: string, start: number, cut: number): number {
  graphemes ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  const from = Math.max(start, cut - CUT_WINDOW)
  const window = text.slice(from, cut + CUT_WINDOW)
  const boundary = from + (graphemes.segment(window).containing(cut - from)?.index ?? cut - from)
  return boundary > start ? boundary : cut
}
