import { CharClass, charClassOf } from './char-class.ts'
import type { Hit } from './find-hits.ts'
import { type TextRange, trimRange } from './split-sentences.ts'

const BLANK = /\s/u
/** How far an edge may move to a blank, and to the start of a character. */
const BLANK_REACH = 24
const CHARACTER_REACH = 16

/**
 * Returns up to `count` parts of the text, in order, none longer than `length` (UTF-16 units) and none overlapping:
 * those that match the most clauses of the query, then those with the most hits. Hits must be ordered by their start.
 */
export function bestWindows(text: string, hits: readonly Hit[], count: number, length: number): TextRange[] {
  const windows: TextRange[] = []
  while (windows.length < count) {
    const cluster = bestCluster(hits, windows, length)
    if (cluster === null) break
    windows.push(windowAround(text, cluster, windows, length))
  }
  return windows.sort((a, b) => a.start - b.start)
}

/** Returns the range of the most valuable hits within `length` of each other. */
function bestCluster(hits: readonly Hit[], taken: readonly TextRange[], length: number): TextRange | null {
  const free = hits.filter((hit) => !taken.some((range) => hit.start < range.end && hit.end > range.start))
  const counts = new Map<number, number>()
  let best: TextRange | null = null
  let bestWorth = 0
  let last = 0
  for (const [first, hit] of free.entries()) {
    while (last < free.length && isTogether(free, first, last, taken, length)) {
      counts.set(free[last]!.clause, (counts.get(free[last]!.clause) ?? 0) + 1)
      last += 1
    }
    // One more clause outweighs any number of repeated hits.
    const worth = counts.size + 1 - 1 / (1 + last - first)
    if (worth > bestWorth) {
      bestWorth = worth
      best = { start: hit.start, end: Math.min(free[last - 1]!.end, hit.start + length) }
    }
    const left = counts.get(hit.clause)! - 1
    if (left === 0) counts.delete(hit.clause)
    else counts.set(hit.clause, left)
  }
  return best
}

function isTogether(
  hits: readonly Hit[],
  first: number,
  last: number,
  taken: readonly TextRange[],
  length: number,
): boolean {
  if (last === first) return true
  const { start } = hits[first]!
  const { end } = hits[last]!
  return end - start <= length && !taken.some((range) => range.start >= start && range.start < end)
}

/** Widens a cluster to the requested length, avoids the windows already taken, and rounds to words. */
function windowAround(text: string, cluster: TextRange, taken: readonly TextRange[], length: number): TextRange {
  const before = Math.max(0, ...taken.filter((range) => range.end <= cluster.start).map((range) => range.end))
  const after = Math.min(
    text.length,
    ...taken.filter((range) => range.start >= cluster.end).map((range) => range.start),
  )
  const spare = length - (cluster.end - cluster.start)
  const idealStart = Math.max(before, cluster.start - Math.floor(spare / 2))
  const end = Math.min(after, idealStart + length)
  const start = Math.max(before, Math.min(idealStart, end - length))
  return trimRange(text, wordStart(text, start, cluster.start), wordEnd(text, end, Math.max(cluster.end, start)))
}

/** Moves `start` forward to the start of a word, at most to `limit`. */
function wordStart(text: string, start: number, limit: number): number {
  if (start === 0) return 0
  for (let index = start; index <= Math.min(limit, start + BLANK_REACH); index += 1) {
    if (BLANK.test(text[index - 1]!)) return index
  }
  return characterStart(text, start, 1, limit)
}

/** Moves `end` back to the end of a word, at most to `limit`. */
function wordEnd(text: string, end: number, limit: number): number {
  if (end >= text.length) return text.length
  for (let index = end; index >= Math.max(limit, end - BLANK_REACH); index -= 1) {
    if (BLANK.test(text[index]!)) return index
  }
  return characterStart(text, end, -1, limit)
}

/** Moves until no mark, joiner or half of a surrogate pair is separated from the character before it. */
function characterStart(text: string, from: number, step: 1 | -1, limit: number): number {
  for (let moved = 0; moved < CHARACTER_REACH; moved += 1) {
    const index = from + moved * step
    if (step === 1 ? index > limit : index < limit) break
    if (startsCharacter(text, index)) return index
  }
  return splitsPair(text, from) ? from + step : from
}

function startsCharacter(text: string, index: number): boolean {
  if (index <= 0 || index >= text.length) return true
  const joinsBefore = text.charCodeAt(index - 1) === 0x200d
  return !splitsPair(text, index) && !joinsBefore && charClassOf(text.codePointAt(index)!) !== CharClass.extend
}

function splitsPair(text: string, index: number): boolean {
  return (text.charCodeAt(index) & 0xfc00) === 0xdc00 && (text.charCodeAt(index - 1) & 0xfc00) === 0xd800
}
