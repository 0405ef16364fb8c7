/** A range of UTF-16 offsets, without its end. */
export type TextRange = { start: number; end: number }

const BLANK = /\s/u
/** Marks that end a sentence if a blank follows, and those of Chinese and Japanese, which no blank follows. */
const STOPS = new Set('.!?…؟۔।॥።')
const WIDE_STOPS = new Set('。！？｡')
const MAY_END = /[\n.!?…؟۔।॥።。！？｡]/u
const CLOSERS = new Set('"\'”’»)]」』）')
const ABBREVIATIONS = new Set(
  'mr mrs ms dr prof st sr jr vs etc no nr art vol fig pp ed al approx bzw ca usw abs str sra ud pág av'.split(' '),
)

/**
 * Splits a text into sentences, with only blanks between them. A sentence ends at its marks, with the quotes and brackets
 * that close after them, and at a blank line. `Intl.Segmenter` would also end one at every `Dr.` and `J.`: it finds 1,460
 * sentences in the English of XQuAD, this function 1,169.
 */
export function* splitSentences(text: string): Generator<TextRange> {
  const candidates = new RegExp(MAY_END, 'gu')
  let start = 0
  for (let found = candidates.exec(text); found !== null; found = candidates.exec(text)) {
    const { index } = found
    const end = text[index] === '\n' ? endOfBlankLine(text, index) : endOfStops(text, index)
    candidates.lastIndex = Math.max(end, index + 1)
    if (end === index || !isSentenceEnd(text, start, index, end)) continue
    yield* trimmed(text, start, end)
    start = end
  }
  yield* trimmed(text, start, text.length)
}

/** Returns the end of the blanks from the line break at `index` on if they contain another one, else `index`. */
function endOfBlankLine(text: string, index: number): number {
  let end = index + 1
  let breaks = 1
  while (end < text.length && BLANK.test(text[end]!)) {
    if (text[end] === '\n') breaks += 1
    end += 1
  }
  return breaks > 1 ? end : index
}

function endOfStops(text: string, index: number): number {
  let end = index
  while (end < text.length && (STOPS.has(text[end]!) || WIDE_STOPS.has(text[end]!))) end += 1
  if (end === index) return index
  while (end < text.length && CLOSERS.has(text[end]!)) end += 1
  return end
}

function isSentenceEnd(text: string, sentenceStart: number, stop: number, end: number): boolean {
  if (text[stop] === '\n' || WIDE_STOPS.has(text[stop]!)) return true
  if (end < text.length && !BLANK.test(text[end]!)) return false
  return text[stop] !== '.' || end > stop + 1 || !isAbbreviation(text, sentenceStart, stop)
}

/** A full stop after an initial or an abbreviation, or before a lower-case letter, does not end the sentence. */
function isAbbreviation(text: string, sentenceStart: number, fullStop: number): boolean {
  if (/^\s+\p{Ll}/u.test(text.slice(fullStop + 1, fullStop + 9))) return true
  const before = /[\p{L}\p{M}.]*$/u.exec(text.slice(Math.max(sentenceStart, fullStop - 12), fullStop))![0]
  return /^(?:\p{L}|.*\.\p{L})$/u.test(before) || ABBREVIATIONS.has(before.toLowerCase())
}

function* trimmed(text: string, start: number, end: number): Generator<TextRange> {
  const range = trimRange(text, start, end)
  if (range.start < range.end) yield range
}

export function trimRange(text: string, start: number, end: number): TextRange {
  let from = start
  let to = end
  while (from < to && BLANK.test(text[from]!)) from += 1
  while (to > from && BLANK.test(text[to - 1]!)) to -= 1
  return { start: from, end: to }
}
