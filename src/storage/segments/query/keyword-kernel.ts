import { bm25 } from '../../../text/bm25.ts'
import { countBits } from '../format/count-bits.ts'
import { exceptionCode, postingRangeOf, type SegmentData } from '../format/segment-data.ts'
import { tokenNumber } from '../format/segment-tokens.ts'
import { hasDeletions, type Segment } from '../memory/segment.ts'
import { weighFrequency } from './chunk-scorer.ts'
import type { CompiledFilter } from './compile-filter.ts'
import { GatheredScores } from './gathered-scores.ts'
import { kernelClassesMax, keywordLayout, phraseWordsMax, positionsAtOnce } from './kernel-layouts.ts'
import { ArenaKernel, openMemory } from './kernel-memory.ts'
import { PhraseMatcher } from './match-phrase.ts'
import type { EssentialTerms } from './max-score.ts'
import type { KeywordPlan, PlannedAlternative, PlannedPrefix, PlannedTerm } from './plan-keyword.ts'
import type { PrefixChunks } from './prefix-chunks.ts'
import { DocumentOffers, type TopDocuments } from './top-documents.ts'
import {
  eachScore,
  postingScore,
  prefixScore,
  type VisitedSegment,
  visiblePostings,
  type WalkedSegment,
} from './walk-postings.ts'

/** The largest length that `chunkWord` can represent. */
const wordLengthMax = 2 ** 16 - 1

/**
 * The number of postings, and of words of 32 chunks, between two reads of the threshold, which rises fast in the first
 * segment.
 */
const postingsAtOnce = 4096
const wordsAtOnce = 128
/** The kernel has a bit of one number for each group of a phrase. */
const groupsMax = 31

interface KernelExports {
  mark(from: number, count: number, codeMin: number): void
  skip(from: number, count: number): number
  gather(from: number, count: number, kept: number, scores: number, touched: number, raise: number): void
  add_gathered(words: number): void
  rank_term(from: number, count: number, threshold: number): number
  rank(firstWord: number, words: number, threshold: number): number
  phrases(count: number): void
  collect_prefix(positions: number): void
  take_prefix(words: number): number
  skip_long(firstWord: number, words: number): number
  gather_prefix(words: number, scores: number, touched: number, raise: number): void
  visible(from: number, count: number): number
  keep_written(count: number, term: number): number
}

type TakeScore = (chunk: number, score: number) => void
/** The arrays that collect a term's scores, and whether they replace lower scores there (1) or are added (0). */
type Into = readonly [scores: number, touched: number, raise: number]

/**
 * The inner loops of keyword search, over the postings of a term, with filter and deletions. They are in
 * `keyword-kernel.wasm`, one instance for each arena. Segments that it cannot read are walked one posting at a time
 * (`walk-postings.ts`), with the same results. A thread answers one call at a time, so a kernel needs one set of
 * arrays.
 */
export class KeywordKernel {
  /** The sum over the clauses so far. */
  readonly sum: GatheredScores
  /** The alternatives of one clause among several; the best one counts. */
  readonly clause: GatheredScores
  readonly #memory = openMemory(keywordLayout)
  readonly #arrays = this.#memory.arrays
  readonly #kernel: ArenaKernel<KernelExports>
  /** The segment whose offsets were written last. */
  #data: SegmentData | null = null
  /** The title weight of the weighted frequencies. */
  #titleWeight = NaN
  /** The visible chunks of the segment, while chunks are skipped. */
  #visible: Uint32Array | null = null

  constructor(memories: readonly WebAssembly.Memory[]) {
    const { sumScores, sumTouched, clauseScores, clauseTouched, limits } = this.#arrays
    this.sum = new GatheredScores(sumScores, sumTouched)
    this.clause = new GatheredScores(clauseScores, clauseTouched)
    this.#kernel = new ArenaKernel('keyword-kernel.wasm', memories, this.#memory.memory)
    limits.fill(-2)
  }

  /**
   * Prepares a search with this filter. A chunk outside the scope has mask 0, for which every weighted frequency is 0,
   * so that the kernel needs no branch.
   */
  begin(filter: CompiledFilter, titleWeight: number): void {
    const { weighted, table, rulesFrom, rulesTo, ruleMasks, ruleAlways } = this.#arrays
    table.set(filter.table.subarray(0, kernelClassesMax))
    for (const [i, { from, to, mask, always }] of filter.timeRules.entries()) {
      rulesFrom[i] = from
      rulesTo[i] = to
      ruleMasks[i] = mask
      ruleAlways[i] = always
    }
    if (titleWeight === this.#titleWeight) return
    this.#titleWeight = titleWeight
    for (let mask = 1; mask < 4; mask++) {
      for (let code = 0; code < exceptionCode; code++) {
        const frequency = ((code >>> 6) << 16) | (code & 63)
        weighted[(mask << 8) | code] = weighFrequency(frequency, mask, titleWeight)
      }
    }
  }

  /** The chunks with the terms at these positions of a segment's list. */
  gatherPrefix(segment: Segment, positions: Uint32Array<ArrayBufferLike>): PrefixChunks {
    const kernel = this.#kernelFor(segment)
    for (let from = 0; from < positions.length; from += positionsAtOnce) {
      const some = positions.subarray(from, from + positionsAtOnce)
      this.#arrays.termPositions.set(some)
      kernel.collect_prefix(some.length)
    }
    const words = wordsOf(segment)
    const count = kernel.take_prefix(words)
    const { prefixTitles, prefixBodies } = this.#arrays
    return { titles: prefixTitles.slice(0, words), bodies: prefixBodies.slice(0, words), count }
  }

  /**
   * Called before a segment's clauses, and valid until it is ranked: chunks without an essential term are counted but
   * not scored. `visible` has a bit for each chunk that may be searched, all of them in both fields.
   */
  skip(walked: WalkedSegment, visible: Uint32Array, essential: EssentialTerms): void {
    if (!isWalkable(walked)) return
    this.#visible = visible
    const kernel = this.#kernelFor(walked)
    for (const { term, codeMin } of essential) {
      const [from, end] = postingRangeOf(walked.data, term)
      kernel.mark(from, end - from, codeMin)
    }
    const { marks } = this.#arrays
    for (let i = 0; i < visible.length; i++) marks[i]! &= visible[i]!
  }

  /** Adds the scores of a term or a prefix to the sum. */
  add(walked: WalkedSegment, planned: PlannedAlternative): void {
    if (isWalkable(walked)) this.#gather(walked, planned, this.sum, false)
    else eachScore(walked, planned, (chunk, score) => this.sum.add(chunk, score))
  }

  /** Raises the collected scores to those of a term or a prefix, as an alternative. */
  raise(walked: WalkedSegment, planned: PlannedAlternative, gathered: GatheredScores): void {
    if (isWalkable(walked)) this.#gather(walked, planned, gathered, true)
    else eachScore(walked, planned, (chunk, score) => gathered.raise(chunk, score))
  }

  /** Adds the collected scores of a clause to the sum, and resets them. */
  addClause(walked: WalkedSegment): void {
    this.#kernelFor(walked).add_gathered(wordsOf(walked))
  }

  /** Scores and ranks the alternatives of a query's only word. Returns the number of matching chunks. */
  rankAlternatives(walked: WalkedSegment, alternatives: readonly PlannedAlternative[], top: TopDocuments): number {
    const [first] = alternatives
    const canWalk = isWalkable(walked)
    if (canWalk && alternatives.length === 1 && !('lists' in first!)) return this.#rankTerm(walked, first!, top)
    const skippable = canWalk ? alternatives.findLast((planned) => 'lists' in planned) : undefined
    for (const planned of alternatives) if (planned !== skippable) this.raise(walked, planned, this.sum)
    return skippable === undefined ? this.rank(walked, top) : this.#skipLongChunks(walked, skippable, top)
  }

  #rankTerm(walked: WalkedSegment, term: PlannedTerm, top: TopDocuments): number {
    const { data } = walked
    const kernel = this.#scoring(walked, term.weight)
    const documents = new DocumentOffers(data, top)
    let matches = 0
    const [first, last] = postingRangeOf(data, term.term)
    for (let from = first; from < last; from += postingsAtOnce) {
      const end = Math.min(last, from + postingsAtOnce)
      const threshold = top.thresholdFrom(data.chunkDocument[data.postingChunk[from]!]!)
      const found = kernel.rank_term(from, end - from, threshold)
      if (this.#arrays.deferredCount[0] === 0) {
        matches += found
        this.#offer(documents)
        continue
      }
      // Some postings are deferred. Documents must be offered in order, so the whole block takes the slow path.
      for (let posting = from; posting < end; posting++) {
        const score = postingScore(walked, posting, term.weight)
        if (score === 0) continue
        matches++
        documents.take(data.postingChunk[posting]!, score)
      }
    }
    documents.end()
    return matches
  }

  /** Ranks the sum and resets it. Returns the number of matching chunks. */
  rank(walked: WalkedSegment, top: TopDocuments): number {
    return this.#rank(walked, top, () => 0) + this.#endSkipping()
  }

  /** Returns the number of matching chunks that were not scored. */
  #endSkipping(): number {
    const visible = this.#visible
    if (visible === null) return 0
    const { marks, matching } = this.#arrays
    let count = 0
    for (let i = 0; i < visible.length; i++) count += countBits(matching[i]! & visible[i]! & ~marks[i]!)
    marks.fill(0, 0, visible.length)
    matching.fill(0, 0, visible.length)
    this.#visible = null
    return count
  }

  /**
   * `before` is called for each portion of words (32 chunks each), and returns the number of matches without a score.
   */
  #rank(
    walked: WalkedSegment,
    top: TopDocuments,
    before: (first: number, count: number, threshold: number) => number,
  ): number {
    const kernel = this.#kernelFor(walked)
    const documents = new DocumentOffers(walked.data, top)
    const words = wordsOf(walked)
    let matches = 0
    for (let first = 0; first < words; first += wordsAtOnce) {
      const count = Math.min(wordsAtOnce, words - first)
      const threshold = top.thresholdFrom(walked.data.chunkDocument[32 * first]!)
      matches += before(first, count, threshold)
      matches += kernel.rank(first, count, threshold)
      this.#offer(documents)
    }
    documents.end()
    return matches
  }

  /** The frequency of a phrase in each of the first `count` chunks of the list, title << 16 | body. */
  phrases(
    walked: WalkedSegment,
    groups: readonly (readonly number[])[],
    list: Uint16Array,
    count: number,
  ): Uint32Array {
    const { data } = walked
    const { phrase, phraseFrequencies } = this.#arrays
    const terms = groups.flat()
    if (groups.length > groupsMax || groups.length + 2 + terms.length > phraseWordsMax) {
      const matcher = new PhraseMatcher(groups)
      for (let i = 0; i < count; i++) phraseFrequencies[i] = matcher.frequency(data, list[i]!)
      return phraseFrequencies
    }
    let start = 0
    const starts = groups.map((group) => {
      start += group.length
      return start
    })
    phrase.set([groups.length, 0, ...starts, ...terms.map((term) => tokenNumber(data, term))])
    this.#arrays.list.set(list.subarray(0, count))
    this.#kernelFor(walked).phrases(count)
    return phraseFrequencies
  }

  /**
   * Writes the chunks of `count` postings that are visible and contain the term in a field that may be searched, with
   * the mask of the fields that may be searched. Returns the number of these chunks.
   */
  keepVisible(visited: VisitedSegment, from: number, count: number, chunks: Uint16Array, masks: Uint8Array): number {
    if (!isWalkable(visited)) return visiblePostings(visited, from, count, chunks, masks)
    const kept = this.#visiting(visited).visible(from, count)
    if (kept < 0) return visiblePostings(visited, from, count, chunks, masks)
    chunks.set(this.#arrays.list.subarray(0, kept))
    masks.set(this.#arrays.masks.subarray(0, kept))
    return kept
  }

  /**
   * Keeps those of the first `count` chunks that contain the term as a word as written, the first of its position, in a
   * field of their mask. Returns the number kept.
   */
  keepWritten(
    segment: Pick<Segment, 'arena' | 'data'>,
    term: number,
    chunks: Uint16Array,
    masks: Uint8Array,
    count: number,
  ): number {
    const number = tokenNumber(segment.data, term)
    if (number < 0) return 0
    const { list, masks: fields } = this.#arrays
    list.set(chunks.subarray(0, count))
    fields.set(masks.subarray(0, count))
    const kept = this.#kernelFor(segment).keep_written(count, number)
    chunks.set(list.subarray(0, kept))
    return kept
  }

  /**
   * Counts the chunks of a prefix that are too long to be among the best without scoring them: most, if it is short.
   */
  #skipLongChunks(walked: WalkedSegment, { lists, weight }: PlannedPrefix, top: TopDocuments): number {
    const prefixed = lists.get(walked.data)!
    if (prefixed.count === 0) return this.rank(walked, top)
    this.#takePrefix(prefixed)
    const kernel = this.#scoring(walked, weight)
    let limitsFor = -1
    return this.#rank(walked, top, (first, count, threshold) => {
      // Computing the limits takes as long as a portion of a rare prefix, and usually the threshold has not changed
      // since the previous portion.
      if (threshold !== limitsFor) this.#setLimits(walked.plan, weight, threshold)
      limitsFor = threshold
      const matches = kernel.skip_long(first, count)
      for (const chunk of this.#deferredItems()) {
        const score = prefixScore(walked, prefixed, chunk, weight)
        if (score !== 0) this.sum.raise(chunk, score)
      }
      return matches
    })
  }

  /**
   * By mask << 2 | fields: the largest length of a chunk with a term in these fields whose score reaches the threshold.
   */
  #setLimits(plan: KeywordPlan, weight: number, threshold: number): void {
    for (let mask = 1; mask < 4; mask++) {
      for (let fields = 1; fields < 4; fields++) {
        const frequency = weighFrequency(((fields >>> 1) << 16) | (fields & 1), mask, plan.titleWeight)
        const reaches = (length: number) => bm25(weight, frequency, length, plan) >= threshold
        this.#arrays.limits[(mask << 2) | fields] = frequency === 0 ? -2 : longestOf(reaches)
      }
    }
  }

  #takePrefix({ titles, bodies }: PrefixChunks): void {
    this.#arrays.prefixTitles.set(titles)
    this.#arrays.prefixBodies.set(bodies)
  }

  #gather(walked: WalkedSegment, planned: PlannedAlternative, gathered: GatheredScores, raise: boolean): void {
    const { offsets } = keywordLayout
    const into: Into =
      gathered === this.sum
        ? [offsets.sumScores, offsets.sumTouched, Number(raise)]
        : [offsets.clauseScores, offsets.clauseTouched, Number(raise)]
    const addDeferred = (chunk: number, score: number) => {
      if (score === 0) return
      if (raise) gathered.raise(chunk, score)
      else gathered.add(chunk, score)
    }
    if ('lists' in planned) this.#gatherPrefixScores(walked, planned, into, addDeferred)
    else this.#gatherTerm(walked, planned, into, addDeferred)
  }

  #gatherTerm(walked: WalkedSegment, { term, weight }: PlannedTerm, into: Into, addDeferred: TakeScore): void {
    const { data } = walked
    const [from, end] = postingRangeOf(data, term)
    if (from === end) return
    const kernel = this.#scoring(walked, weight)
    const isSkipping = this.#visible !== null
    const count = isSkipping ? kernel.skip(from, end - from) : end - from
    kernel.gather(from, count, Number(isSkipping), ...into)
    for (const nth of this.#deferredItems()) {
      const posting = from + nth
      addDeferred(data.postingChunk[posting]!, postingScore(walked, posting, weight))
    }
  }

  #gatherPrefixScores(
    walked: WalkedSegment,
    { lists, weight }: PlannedPrefix,
    into: Into,
    addDeferred: TakeScore,
  ): void {
    const prefixed = lists.get(walked.data)!
    if (prefixed.count === 0) return
    this.#takePrefix(prefixed)
    this.#scoring(walked, weight).gather_prefix(prefixed.titles.length, ...into)
    for (const chunk of this.#deferredItems()) {
      addDeferred(chunk, prefixScore(walked, prefixed, chunk, weight))
    }
  }

  /** The postings, or the chunks, that the last call deferred. */
  #deferredItems(): Uint32Array {
    return this.#arrays.deferred.subarray(0, this.#arrays.deferredCount[0]!)
  }

  #offer(documents: DocumentOffers): void {
    const { candidates, foundChunks, foundScores } = this.#arrays
    const count = candidates[0]!
    for (let i = 0; i < count; i++) documents.take(foundChunks[i]!, foundScores[i]!)
  }

  /** The kernel of the segment's arena, set up for the segment, the filter and the weight of a term. */
  #scoring(walked: WalkedSegment, weight: number): KernelExports {
    const { normBase: base, normStep: step } = walked.plan
    this.#memory.write.scoring({ weight, base, step })
    return this.#visiting(walked)
  }

  #visiting(visited: VisitedSegment): KernelExports {
    const { deletedAt, generation } = visited
    this.#memory.write.deletions({ deletedAt: hasDeletions(visited) ? deletedAt.byteOffset : 0, generation })
    return this.#kernelFor(visited)
  }

  #kernelFor({ arena, data }: Pick<Segment, 'arena' | 'data'>): KernelExports {
    if (data !== this.#data) {
      this.#data = data
      this.#memory.write.segment({
        words: data.chunkWord.byteOffset,
        documents: data.chunkDocument.byteOffset,
        published: data.documentPublished.byteOffset,
        versions: data.chunkVersion.byteOffset,
        titleLengths: data.titleLength.byteOffset,
        titleChunks: data.titleChunk.byteOffset,
        titleStarts: data.titleStart.byteOffset,
        titleTokens: data.titleTokens.byteOffset,
        bodyStarts: data.bodyStart.byteOffset,
        bodyTokens: data.bodyTokens.byteOffset,
        tokenBytes: data.tokenBytes,
        postingStarts: data.postingStart.byteOffset,
        postingChunks: data.postingChunk.byteOffset,
        postingCodes: data.postingFrequency.byteOffset,
        exceptions: data.exceptionPosting.byteOffset,
        exceptionCount: data.exceptionPosting.length,
        exceptionFrequencies: data.exceptionFrequency.byteOffset,
      })
    }
    return this.#kernel.on(arena)
  }
}

/** Returns the largest length for which a condition holds that also holds for all smaller ones; -1 if there is none. */
function longestOf(isTrue: (length: number) => boolean): number {
  let low = -1
  let high = wordLengthMax
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (isTrue(middle)) low = middle
    else high = middle - 1
  }
  return low
}

function isWalkable({ data }: VisitedSegment): boolean {
  return data.chunkWord.length === data.chunks
}

/** The number of 32-bit words that have a bit for each chunk. */
function wordsOf({ data }: Pick<Segment, 'data'>): number {
  return (data.chunks + 31) >>> 5
}
