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
 * An empty or blank body has none.
 */
export function chunkText(body: string, options: Partial<ChunkOptions> = {}): TextRange[] {
  const limits = { ...DEFAULT_CHUNK_OPTIONS, ...options }
  const sentences = splitSentences(body).flatMap((sentence) => cutSentence(body, sentence, limits))
  const chunks: TextRange[] = []
  let first = 0
  while (first < sentences.length) {
    const next = endOfChunk(sentences, first, limits)
    chunks.push({ start: sentences[first]!.start, end: sentences[next - 1]!.end })
    first = next < sentences.length ? startOfOverlap(sentences, first, next, limits) : next
  }
  return chunks
}

/** The sentence after the last one that the chunk from `first` takes in. */
function endOfChunk(sentences: readonly Sentence[], first: number, limits: ChunkOptions): number {
  const start = sentences[first]!.start
  let words = sentences[first]!.words
  let next = first + 1
  while (next < sentences.length) {
    const sentence = sentences[next]!
    const fits = words + sentence.words <= limits.maxWords && sentence.end - start <= limits.maxLength
    if (!fits || (words + sentence.words > limits.targetWords && !fitsWhole(sentences, next, start, words, limits)))
      break
    words += sentence.words
    next += 1
  }
  return next
}

/** Whether everything that is left fits too: a last chunk of one sentence is worth less than a chunk over the target. */
function fitsWhole(
  sentences: readonly Sentence[],
  next: number,
  start: number,
  words: number,
  limits: ChunkOptions,
): boolean {
  if (sentences.at(-1)!.end - start > limits.maxLength) return false
  let total = words
  for (let index = next; index < sentences.length && total <= limits.maxWords; index += 1)
    total += sentences[index]!.words
  return total <= limits.maxWords
}

/** Where the next chunk starts: at `next`, or before it by the overlap that leaves room for the sentence at `next`. */
function startOfOverlap(sentences: readonly Sentence[], first: number, next: number, limits: ChunkOptions): number {
  const { words: newWords, end } = sentences[next]!
  let start = next
  let words = 0
  while (start - 1 > first && next - start < OVERLAP_SENTENCES_MAX) {
    const sentence = sentences[start - 1]!
    words += sentence.words
    if (words > limits.overlapWords || words + newWords > limits.maxWords || end - sentence.start > limits.maxLength)
      break
    start -= 1
  }
  return start
}

/** A sentence over the maximum, in pieces that end between words where it has any. */
function cutSentence(text: string, sentence: TextRange, limits: ChunkOptions): Sentence[] {
  const { start, end } = sentence
  const words = sizeInWords(text, start, end)
  if (words <= limits.maxWords && end - start <= limits.maxLength) return [{ start, end, words }]
  const pieces: Sentence[] = []
  let from = start
  while (from < end) {
    const to = endOfPiece(text, from, end, limits)
    const piece = trimRange(text, from, to)
    if (piece.start < piece.end) pieces.push({ ...piece, words: sizeInWords(text, piece.start, piece.end) })
    from = to
  }
  return pieces
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
