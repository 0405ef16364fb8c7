import type { SimilarWord, SimilarWords, SimilarWordsRequest, TypedWord } from '../../../search/search-index.ts'
import { fieldsAt, type SegmentImage, segmentChunksMax } from '../format/segment-image.ts'
import { longStep, stepShift, termMask } from '../format/token-stream.ts'
import type { SearchView } from '../memory/segment.ts'
import type { TermDictionary } from '../memory/term-dictionary.ts'
import { termsBegun } from './begun-chunks.ts'
import { bodyMask, type CompiledFilter, titleMask } from './compile-filter.ts'
import { postingRangeOf } from './keyword-kernel.ts'
import type { SimilarTerm, TermScan } from './scan-terms.ts'

/** Words in more chunks than this are all common. */
const countedMax = 1000

export interface SimilarWordsSearch {
  readonly view: SearchView
  readonly dictionary: TermDictionary
  readonly terms: TermScan
  readonly filter: CompiledFilter
  /** Whether the document of a visible chunk meets the conditions of the request; `null` where it has none. */
  readonly admits: ((image: SegmentImage, chunk: number) => boolean) | null
  readonly request: SimilarWordsRequest
  /** On the clock of `performance.now()`. */
  readonly deadline: number
}

/** `null` when time runs out. */
export function findSimilarWords(search: SimilarWordsSearch): SimilarWords[] | null {
  const found: SimilarWords[] = []
  for (const word of search.request.words) {
    if (performance.now() > search.deadline) return null
    const isFound = isWordFound(search, word)
    const similar = isFound && word.unlessFound ? [] : similarTo(search, word)
    if (similar === null) return null
    found.push({ isFound, similar })
  }
  return found
}

function isWordFound(search: SimilarWordsSearch, { word, group, isBeginning }: TypedWord): boolean {
  const { dictionary, view } = search
  const occurs = (term: number) => {
    let found = false
    if (term !== 0) eachVisible(search, term, () => (found = true))
    return found
  }
  if (group.some((term) => occurs(dictionary.find(term)))) return true
  return isBeginning && view.segments.some((segment) => termsBegun(segment, dictionary, word).some(occurs))
}

interface Candidate extends SimilarWord {
  /** A word may have two: a marked one where it is stemmed, and its own. */
  readonly terms: SimilarTerm[]
  /** Chunks it can stand in at most, those that are not visible included. */
  most: number
}

/** Those with fewer errors first, then those in more chunks. */
function similarTo(search: SimilarWordsSearch, { word, editsMax, isBeginning }: TypedWord): SimilarWord[] | null {
  const { limit } = search.request
  const found: (Candidate & { readonly chunks: number })[] = []
  for (const candidate of candidatesFor(search, search.terms.similar(word, editsMax, isBeginning))) {
    const most = Math.min(countedMax, candidate.most)
    const isBefore = (other: (typeof found)[number]) => other.edits < candidate.edits || other.chunks > most
    // It would come after all of them.
    if (found.filter(isBefore).length >= limit) continue
    if (performance.now() > search.deadline) return null
    const chunks = new Set<number>()
    for (const term of candidate.terms) addChunks(search, term, chunks)
    if (chunks.size > 0) found.push({ ...candidate, chunks: chunks.size })
  }
  return found
    .sort((a, b) => a.edits - b.edits || b.chunks - a.chunks || (a.word < b.word ? -1 : 1))
    .slice(0, limit)
    .map(({ word: near, edits }) => ({ word: near, edits }))
}

/** Those with fewer errors first, then those that may be in more chunks. */
function candidatesFor({ view }: SimilarWordsSearch, terms: readonly SimilarTerm[]): Candidate[] {
  const byWord = new Map<string, Candidate>()
  for (const term of terms) {
    const { word, edits } = term
    const candidate = byWord.get(word) ?? { word, edits, terms: [], most: 0 }
    candidate.terms.push(term)
    for (const { image } of view.segments) {
      const [from, end] = postingRangeOf(image, term.term)
      candidate.most += end - from
    }
    byWord.set(word, candidate)
  }
  return [...byWord.values()].sort((a, b) => a.edits - b.edits || b.most - a.most)
}

/**
 * The chunks in which the term stands for a word as it is written, where that may be searched. A marked one does wherever
 * it stands, another one where it is the first of its position, and is a mere stem elsewhere.
 */
function addChunks(search: SimilarWordsSearch, { term, isMarked }: SimilarTerm, chunks: Set<number>): void {
  eachVisible(search, term, (image, segment, chunk, mask) => {
    if (isMarked || isFirstIn(image, chunk, mask, term)) chunks.add(segment * segmentChunksMax + chunk)
    return chunks.size >= countedMax
  })
}

/** The chunks that hold a term where it may be searched, until `see` has seen enough. */
function eachVisible(
  { view, filter, admits }: SimilarWordsSearch,
  term: number,
  see: (image: SegmentImage, segment: number, chunk: number, mask: number) => boolean,
): void {
  for (const [segment, { image, died }] of view.segments.entries()) {
    const [from, end] = postingRangeOf(image, term)
    for (let posting = from; posting < end; posting++) {
      const chunk = image.postingChunk[posting]!
      const mask = filter.maskOf(image, chunk)
      if (mask === 0 || (mask & fieldsAt(image, posting)) === 0 || died[chunk]! <= view.generation) continue
      if (admits !== null && !admits(image, chunk)) continue
      if (see(image, segment, chunk, mask)) return
    }
  }
}

function isFirstIn(image: SegmentImage, chunk: number, mask: number, term: number): boolean {
  const { titleStart, titleTokens, bodyStart, bodyTokens } = image
  const version = image.chunkVersion[chunk]!
  return (
    ((mask & bodyMask) !== 0 && isFirst(bodyTokens, bodyStart[chunk]!, bodyStart[chunk + 1]!, term)) ||
    ((mask & titleMask) !== 0 && isFirst(titleTokens, titleStart[version]!, titleStart[version + 1]!, term))
  )
}

function isFirst(tokens: Uint32Array<ArrayBufferLike>, from: number, to: number, term: number): boolean {
  for (let i = from; i < to; i++) {
    const step = tokens[i]! >>> stepShift
    if (step !== 0 && (tokens[i]! & termMask) === term) return true
    if (step === longStep) i++
  }
  return false
}
