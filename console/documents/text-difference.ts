import { diffArrays } from 'diff/lib/diff/array.js'

/** A piece of a paragraph, and whether it is missing from the other text. */
export interface Piece {
  readonly text: string
  readonly isChanged: boolean
}

/** Two paragraphs that correspond; null where one text has none. */
export interface Row {
  readonly before: readonly Piece[] | null
  readonly after: readonly Piece[] | null
}

/**
 * With more changes the texts have little in common, and the time of Myers' diff grows with the square of their number.
 */
const changesMax = 1_000

/** Compares two texts by paragraphs, then by words within paragraphs, with the word boundaries of their language. */
export function differenceOf(before: string, after: string, language?: string | null): readonly Row[] {
  const [old, next] = [before.split('\n'), after.split('\n')]
  const parts = diffArrays(old, next, { maxEditLength: changesMax }) ?? [
    { value: old, removed: true, added: false },
    { value: next, removed: false, added: true },
  ]
  const rows: Row[] = []
  for (let i = 0; i < parts.length; i += 1) {
    const { value, removed, added } = parts[i]!
    const follower = parts[i + 1]
    if (removed && follower?.added) {
      rows.push(...pairedRows(value, follower.value, segmenterOf(language)))
      i += 1
    } else if (removed) rows.push(...value.map((text) => ({ before: whole(text, true), after: null })))
    else if (added) rows.push(...value.map((text) => ({ before: null, after: whole(text, true) })))
    else rows.push(...value.map((text) => ({ before: whole(text, false), after: whole(text, false) })))
  }
  return rows
}

export const isSame = ({ before, after }: Row): boolean =>
  before !== null && after !== null && [...before, ...after].every(({ isChanged }) => !isChanged)

const whole = (text: string, isChanged: boolean): readonly Piece[] => [{ text, isChanged }]

function pairedRows(old: readonly string[], next: readonly string[], words: Intl.Segmenter): Row[] {
  return Array.from({ length: Math.max(old.length, next.length) }, (_, i) => {
    const [before, after] = [old[i], next[i]]
    if (before === undefined) return { before: null, after: whole(after!, true) }
    if (after === undefined) return { before: whole(before, true), after: null }
    return wordsOf(before, after, words)
  })
}

function wordsOf(before: string, after: string, words: Intl.Segmenter): Row {
  const split = (text: string): string[] => Array.from(words.segment(text), ({ segment }) => segment)
  const parts = diffArrays(split(before), split(after), { maxEditLength: changesMax })
  if (parts === undefined) return { before: whole(before, true), after: whole(after, true) }
  const without = (other: 'removed' | 'added'): readonly Piece[] =>
    joined(
      parts
        .filter((part) => !part[other])
        .map(({ value, removed, added }) => ({ text: value.join(''), isChanged: removed || added })),
    )
  return { before: without('added'), after: without('removed') }
}

/** Marks white space between two changed words as changed too. One long mark is easier to read than many short ones. */
function joined(pieces: readonly Piece[]): readonly Piece[] {
  const all: { text: string; isChanged: boolean }[] = []
  for (const [i, { text, isChanged }] of pieces.entries()) {
    const isGap = /^\s+$/.test(text) && pieces[i - 1]?.isChanged === true && pieces[i + 1]?.isChanged === true
    const isMarked = isChanged || isGap
    const last = all.at(-1)
    if (last?.isChanged === isMarked) last.text += text
    else all.push({ text, isChanged: isMarked })
  }
  return all
}

function segmenterOf(language: string | null | undefined): Intl.Segmenter {
  try {
    return new Intl.Segmenter(language ?? undefined, { granularity: 'word' })
  } catch {
    // A collector may have sent an invalid language.
    return new Intl.Segmenter(undefined, { granularity: 'word' })
  }
}
