import type { SimilarWord, SimilarWords, SimilarWordsRequest, TypedWord } from '../../../search/search-index.ts'
import type { TermGroup } from '../../../text/types.ts'
import { fieldsAt, findTerm, postingRangeOf, type SegmentData } from '../format/segment-data.ts'
import type { SearchView, Segment } from '../memory/segment.ts'
import type { TermDictionary } from '../memory/term-dictionary.ts'
import { positionsWithPrefix } from '../memory/word-order.ts'
import { ChunkSet } from './chunk-set.ts'
import type { CompiledFilter } from './compile-filter.ts'
import type { KeywordKernel } from './keyword-kernel.ts'
import type { SimilarTerm, TermScan } from './scan-terms.ts'

const encoder = new TextEncoder()

/** Words that occur in at least this many chunks count as equally common. */
const countedMax = 1000

export interface SimilarWordsSearch {
  readonly view: SearchView
  readonly dictionary: TermDictionary
  readonly terms: TermScan
  readonly kernel: KeywordKernel
  readonly filter: CompiledFilter
  /** Whether the document of a visible chunk meets the conditions of the request; `null` without conditions. */
  readonly accepts: ((data: SegmentData, chunk: number) => boolean) | null
  /**
   * Returns the number of visible chunks of a segment with a term. `null` if that would require reading each posting.
   */
  readonly countIn: ((segment: Segment, term: number) => number) | null
  readonly request: SimilarWordsRequest
  /** On the clock of `performance.now()`. */
  readonly deadline: number
}

/** Returns `null` if the time runs out. */
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

function isWordFound(search: SimilarWordsSearch, { word, group, isPrefix }: TypedWord): boolean {
  const { dictionary, view } = search
  const terms = group.map((term) => dictionary.find(term)).filter((term) => term !== 0)
  const prefix = encoder.encode(word)
  return view.segments.some((segment) => {
    const { data, order } = segment
    const occurs = (position: number) => {
      const end = position < 0 ? 0 : data.postingStart[position + 1]!
      for (let posting = data.postingStart[position]!; posting < end; posting++) {
        if (visibleMask(search, segment, posting) !== 0) return true
      }
      return false
    }
    if (terms.some((term) => occurs(findTerm(data, term)))) return true
    return isPrefix && positionsWithPrefix(data.term, order, dictionary, prefix).some(occurs)
  })
}

interface Candidate extends SimilarWord {
  /** A word may have two terms: a marked one if it differs from its stem, and an unmarked one. */
  readonly terms: SimilarTerm[]
  /** The number of chunks that contain it, or an upper bound that includes chunks that are not visible. */
  chunks: number
}

/** Ordered by errors, and then by descending number of chunks. */
function similarTo(search: SimilarWordsSearch, typed: TypedWord): SimilarWord[] | null {
  const { word, editsMax, isPrefix } = typed
  const { limit, excluded } = search.request
  const excludedChunks = new ChunksWith(search, [...typed.group, ...excluded])
  const found: Candidate[] = []
  // Ordered as if all chunks were visible, so that the last candidates need not be counted.
  const candidates = candidatesFor(search, search.terms.similar(word, editsMax, isPrefix)).sort(inOrder)
  for (const candidate of candidates) {
    if (found.length >= limit && found.filter((other) => inOrder(other, candidate) < 0).length >= limit) continue
    if (performance.now() > search.deadline) return null
    candidate.chunks = countChunks(search, candidate, excludedChunks)
    if (candidate.chunks > 0) found.push(candidate)
  }
  return found
    .sort(inOrder)
    .slice(0, limit)
    .map(({ word: near, edits }) => ({ word: near, edits }))
}

const inOrder = (a: Candidate, b: Candidate): number =>
  a.edits - b.edits || b.chunks - a.chunks || (a.word < b.word ? -1 : 1)

function candidatesFor({ dictionary }: SimilarWordsSearch, terms: readonly SimilarTerm[]): Candidate[] {
  const byWord = new Map<string, Candidate>()
  for (const term of terms) {
    const { word, edits } = term
    const candidate = byWord.get(word) ?? { word, edits, terms: [], chunks: 0 }
    candidate.terms.push(term)
    candidate.chunks = Math.min(countedMax, candidate.chunks + dictionary.postings[term.term]!)
    byWord.set(word, candidate)
  }
  return [...byWord.values()]
}

/** A thread answers one call at a time, so one of each is enough. */
const chunks = new Uint16Array(countedMax)
const masks = new Uint8Array(countedMax)
const known = new ChunkSet()
const collected = new Uint16Array(countedMax)
const collectedMasks = new Uint8Array(countedMax)

/**
 * Counts the chunks in which one of the terms is a word as written, the first of its position, in a field that may be
 * searched. At most `countedMax`, and without `excludedChunks`.
 */
function countChunks(search: SimilarWordsSearch, { terms }: Candidate, excludedChunks: ChunksWith): number {
  let count = 0
  const [only] = terms
  if (search.countIn !== null && terms.length === 1 && only!.isWordOnly && excludedChunks.isEmpty) {
    for (const segment of search.view.segments) {
      count = Math.min(countedMax, count + search.countIn(segment, only!.term))
      if (count === countedMax) break
    }
    return count
  }
  for (const segment of search.view.segments) {
    if (terms.length > 1) known.clear()
    for (const { term, isWordOnly } of terms) {
      const [from, end] = postingRangeOf(segment.data, term)
      const visited = { ...segment, generation: search.view.generation, filter: search.filter }
      for (let posting = from; posting < end; ) {
        const some = Math.min(end - posting, countedMax - count)
        let left = keepAccepted(search, segment, search.kernel.keepVisible(visited, posting, some, chunks, masks))
        posting += some
        left = excludedChunks.dropFrom(segment, left)
        if (!isWordOnly) left = search.kernel.keepWritten(segment, term, chunks, masks, left)
        count += terms.length > 1 ? countNew(left) : left
        if (count === countedMax) return count
      }
    }
  }
  return count
}

/** The visible chunks with one of some terms, computed for each segment on first use. */
class ChunksWith {
  readonly #search: SimilarWordsSearch
  readonly #terms: readonly number[]
  readonly #sets = new Map<Segment, ChunkSet | null>()

  constructor(search: SimilarWordsSearch, group: TermGroup) {
    this.#search = search
    this.#terms = [...new Set(group)].map((term) => search.dictionary.find(term)).filter((term) => term !== 0)
  }

  /** No text contains any of the terms. */
  get isEmpty(): boolean {
    return this.#terms.length === 0
  }

  /** Removes these chunks from the first `count` of the list. Returns the number left. */
  dropFrom(segment: Segment, count: number): number {
    const set = count === 0 ? null : this.#in(segment)
    if (set === null) return count
    let kept = 0
    for (let i = 0; i < count; i++) {
      if (set.has(chunks[i]!)) continue
      chunks[kept] = chunks[i]!
      masks[kept++] = masks[i]!
    }
    return kept
  }

  #in(segment: Segment): ChunkSet | null {
    let set = this.#sets.get(segment)
    if (set === undefined) {
      set = this.#collect(segment)
      this.#sets.set(segment, set)
    }
    return set
  }

  #collect(segment: Segment): ChunkSet | null {
    const ranges = this.#terms.map((term) => postingRangeOf(segment.data, term)).filter(([from, end]) => from < end)
    if (ranges.length === 0) return null
    const set = new ChunkSet()
    const { view, filter, kernel } = this.#search
    const visited = { ...segment, generation: view.generation, filter }
    for (const [from, end] of ranges) {
      for (let posting = from; posting < end; posting += countedMax) {
        const some = Math.min(end - posting, countedMax)
        const kept = kernel.keepVisible(visited, posting, some, collected, collectedMasks)
        for (const chunk of collected.subarray(0, kept)) set.add(chunk)
      }
    }
    return set
  }
}

/** Keeps those of the first `count` chunks whose documents meet the conditions. Returns the number kept. */
function keepAccepted({ accepts }: SimilarWordsSearch, { data }: Segment, count: number): number {
  if (accepts === null) return count
  let kept = 0
  for (let i = 0; i < count; i++) {
    if (!accepts(data, chunks[i]!)) continue
    chunks[kept] = chunks[i]!
    masks[kept++] = masks[i]!
  }
  return kept
}

/** The number of new chunks among the first `left`. */
function countNew(left: number): number {
  let count = 0
  for (const chunk of chunks.subarray(0, left)) {
    if (!known.has(chunk)) count++
    known.add(chunk)
  }
  return count
}

/**
 * The fields in which a posting's chunk may be searched, if it is visible and has the term in one of them; otherwise 0.
 */
function visibleMask(
  { view, filter, accepts }: SimilarWordsSearch,
  { data, deletedAt }: Segment,
  posting: number,
): number {
  const chunk = data.postingChunk[posting]!
  const mask = filter.maskOf(data, chunk)
  if (mask === 0 || (mask & fieldsAt(data, posting)) === 0 || deletedAt[chunk]! <= view.generation) return 0
  return accepts === null || accepts(data, chunk) ? mask : 0
}
