import { LRUCache } from 'lru-cache'
import type { Scope } from '../../../access/scope.ts'
import { noFilters } from '../../../search/search-index.ts'
import { countBits } from '../format/count-bits.ts'
import type { FilterClass } from '../format/filter-classes.ts'
import { fieldsAt, postingRangeOf } from '../format/segment-data.ts'
import { deletionsAt, type SearchView, type Segment } from '../memory/segment.ts'
import { PostingCursor, searchedLength, weighFrequency } from './chunk-scorer.ts'
import { bodyMask, bothMask, CompiledFilter, scopeKey, titleMask } from './compile-filter.ts'
import type { ScopeStatistics } from './plan-keyword.ts'
import type { PrefixChunks, PrefixLists } from './prefix-chunks.ts'

/** Shorter lists are counted again each time: that takes a microsecond at most, and most terms have only such lists. */
const keptPostingsLeast = 1024
/** Deletions since a list was counted are looked up in it if there are this many times fewer of them than postings. */
const postingsPerDeletion = 16
/** About 10 MB a thread. Beyond it everything is counted again. */
const countsKeptMax = 100_000
/** Each takes a quarter of a megabyte for a million chunks, in every thread. */
const scopesKept = 64

/**
 * The statistics of one scope in one segment. Segments never change except for deletions, which are applied one by one.
 * The searchable fields are kept as two bits a chunk: a walk over postings that reads so little takes a third of the
 * time of one that scores.
 */
class SegmentStatistics {
  chunks: number
  totalLength: number
  readonly #segment: Segment
  readonly #filter: CompiledFilter
  /** Chunks that are not deleted and whose title, or body, may be searched. */
  readonly #titles: Uint32Array
  readonly #bodies: Uint32Array
  /** Whether no chunk may be searched in just one field. */
  #isBothOrNone = true
  #deletions: number
  readonly #counts = new Map<number, { count: number; deletions: number }>()

  constructor(segment: Segment, filter: CompiledFilter, generation: number) {
    this.#segment = segment
    this.#filter = filter
    this.#deletions = deletionsAt(segment, generation)
    const { image, deletedAt } = segment
    const { chunkClass, chunkLength } = image
    const { table } = filter
    const titles = new Uint32Array((image.chunks + 31) >>> 5)
    const bodies = new Uint32Array(titles.length)
    let chunks = 0
    let totalLength = 0
    const anyDeletions = this.#deletions > 0
    for (let chunk = 0; chunk < image.chunks; chunk++) {
      let mask = table[chunkClass[chunk]!]!
      let length = chunkLength[chunk]!
      // Usually 0 or 3, in unpredictable order: one branch, not two, separates them from the others.
      if (mask * (mask - bothMask) !== 0) {
        mask = filter.maskOf(image, chunk)
        length = searchedLength(image, chunk, mask)
        if (mask === titleMask || mask === bodyMask) this.#isBothOrNone = false
      }
      if (anyDeletions && deletedAt[chunk]! <= generation) continue
      const inTitle = mask & titleMask
      const inBody = mask >>> 1
      chunks += inTitle | inBody
      totalLength += length * (inTitle | inBody)
      titles[chunk >>> 5]! |= inTitle << chunk
      bodies[chunk >>> 5]! |= inBody << chunk
    }
    this.chunks = chunks
    this.totalLength = totalLength
    this.#titles = titles
    this.#bodies = bodies
  }

  /**
   * As of the last `follow`: the chunks that may be searched, a bit each; `null` if some may be searched in just one
   * field.
   */
  get searchable(): Uint32Array | null {
    return this.#isBothOrNone ? this.#bodies : null
  }

  /** As of the last `follow`: the chunks whose body may be searched, a bit each. */
  get bodies(): Uint32Array {
    return this.#bodies
  }

  get kept(): number {
    return this.#counts.size
  }

  /** Updates everything except the counts to this generation. */
  follow(generation: number): void {
    const deletions = deletionsAt(this.#segment, generation)
    const { image, deletionOrder } = this.#segment
    for (let i = this.#deletions; i < deletions; i++) {
      const chunk = deletionOrder[i]!
      const mask = this.#filter.maskOf(image, chunk)
      if (mask === 0) continue
      this.chunks--
      this.totalLength -= searchedLength(image, chunk, mask)
      this.#titles[chunk >>> 5]! &= ~(1 << chunk)
      this.#bodies[chunk >>> 5]! &= ~(1 << chunk)
    }
    this.#deletions = deletions
  }

  /** As of the last `follow`. */
  count(term: number): number {
    const { image } = this.#segment
    if (this.chunks === 0) return 0
    const [from, end] = postingRangeOf(image, term)
    if (this.chunks === image.chunks && this.#isBothOrNone) return end - from
    if (end - from < keptPostingsLeast) return this.#walk(from, end)
    const known = this.#counts.get(term)
    if (known === undefined || (this.#deletions - known.deletions) * postingsPerDeletion > end - from) {
      const count = this.#walk(from, end)
      this.#counts.set(term, { count, deletions: this.#deletions })
      return count
    }
    if (known.deletions < this.#deletions) known.count -= this.#countDeleted(term, known.deletions)
    known.deletions = this.#deletions
    return known.count
  }

  /** The number of these chunks that may be searched, as of the last `follow`. */
  countPrefix({ titles, bodies, count: all }: PrefixChunks): number {
    if (this.chunks === this.#segment.image.chunks && this.#isBothOrNone) return all
    let count = 0
    for (let i = 0; i < titles.length; i++) {
      count += countBits((this.#titles[i]! & titles[i]!) | (this.#bodies[i]! & bodies[i]!))
    }
    return count
  }

  #walk(from: number, end: number): number {
    const { image } = this.#segment
    const { postingChunk } = image
    const titles = this.#titles
    const bodies = this.#bodies
    let count = 0
    if (this.#isBothOrNone) {
      for (let posting = from; posting < end; posting++) {
        const chunk = postingChunk[posting]!
        count += (bodies[chunk >>> 5]! >>> chunk) & 1
      }
      return count
    }
    for (let posting = from; posting < end; posting++) {
      const chunk = postingChunk[posting]!
      const inTitle = (titles[chunk >>> 5]! >>> chunk) & 1
      const inBody = (bodies[chunk >>> 5]! >>> chunk) & 1
      const mask = inTitle | (inBody << 1)
      if (mask !== 0 && (mask & fieldsAt(image, posting)) !== 0) count++
    }
    return count
  }

  /** The number of chunks deleted since `before` that contained the term where it may be searched. */
  #countDeleted(term: number, before: number): number {
    const { image, deletionOrder } = this.#segment
    const cursor = new PostingCursor(image, term, 0)
    let count = 0
    for (let i = before; i < this.#deletions; i++) {
      const chunk = deletionOrder[i]!
      if (weighFrequency(cursor.frequency(chunk), this.#filter.maskOf(image, chunk), 1) > 0) count++
    }
    return count
  }
}

/** The cache for one scope: its statistics in each segment of the last list. */
interface ScopeShare {
  readonly filter: CompiledFilter
  segments: readonly Segment[]
  readonly shares: Map<Segment, SegmentStatistics>
}

/**
 * Computes the statistics of a scope over all segments, and caches its counts for the next search with the same scope.
 * A thread that shares a search computes those of the whole index, like the others, each from its own cache.
 */
export class StatisticsCache {
  readonly #classes: readonly FilterClass[]
  readonly #scopes = new LRUCache<string, ScopeShare>({ max: scopesKept })
  #countsKept = 0

  constructor(classes: readonly FilterClass[]) {
    this.#classes = classes
  }

  /** `null` if the time runs out. */
  gather(
    scope: Scope,
    { segments, generation }: SearchView,
    terms: readonly number[],
    prefixed: ReadonlyMap<string, PrefixLists>,
    deadline: number,
  ): ScopeStatistics | null {
    const scopeShare = this.#shareOf(scope, segments)
    let chunks = 0
    let totalLength = 0
    const counts = new Float64Array(terms.length)
    const prefixCounts = new Map<string, number>()
    for (const segment of segments) {
      if (performance.now() > deadline) return null
      const share = segmentShare(scopeShare, segment, generation)
      chunks += share.chunks
      totalLength += share.totalLength
      terms.forEach((term, i) => {
        counts[i]! += this.#count(share, term)
      })
      for (const [beginning, lists] of prefixed) {
        const count = share.countPrefix(lists.get(segment.image)!)
        prefixCounts.set(beginning, (prefixCounts.get(beginning) ?? 0) + count)
      }
    }
    return { chunks, totalLength, counts: new Map(terms.map((term, i) => [term, counts[i]!])), prefixCounts }
  }

  /** The chunks of a segment that the scope may search, as in `SegmentStatistics.searchable`. */
  searchable(scope: Scope, { segments, generation }: SearchView): (segment: Segment) => Uint32Array | null {
    const share = this.#shareOf(scope, segments)
    return (segment) => segmentShare(share, segment, generation).searchable
  }

  /** The chunks of a segment whose body the scope may search. */
  bodies(scope: Scope, { segments, generation }: SearchView): (segment: Segment) => Uint32Array {
    const share = this.#shareOf(scope, segments)
    return (segment) => segmentShare(share, segment, generation).bodies
  }

  /** The number of chunks of a segment that contain a term where the scope may search it. */
  counter(scope: Scope, { segments, generation }: SearchView): (segment: Segment, term: number) => number {
    const share = this.#shareOf(scope, segments)
    return (segment, term) => this.#count(segmentShare(share, segment, generation), term)
  }

  #count(share: SegmentStatistics, term: number): number {
    const keptBefore = share.kept
    const count = share.count(term)
    this.#countsKept += share.kept - keptBefore
    return count
  }

  /** New numbers of classes invalidate everything. */
  clear(): void {
    this.#scopes.clear()
    this.#countsKept = 0
  }

  #shareOf(scope: Scope, segments: readonly Segment[]): ScopeShare {
    if (this.#countsKept > countsKeptMax) this.clear()
    const key = scopeKey(scope)
    const share = this.#scopes.get(key) ?? {
      filter: new CompiledFilter(scope, noFilters, this.#classes),
      segments,
      shares: new Map(),
    }
    this.#scopes.set(key, share)
    share.filter.extend()
    if (share.segments !== segments) {
      const listed = new Set(segments)
      for (const segment of share.shares.keys()) if (!listed.has(segment)) share.shares.delete(segment)
      share.segments = segments
    }
    return share
  }
}

/** The statistics of a segment, updated to the generation. */
function segmentShare({ filter, shares }: ScopeShare, segment: Segment, generation: number): SegmentStatistics {
  const share = shares.get(segment) ?? new SegmentStatistics(segment, filter, generation)
  shares.set(segment, share)
  share.follow(generation)
  return share
}
