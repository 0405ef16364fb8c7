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

/** Shorter lists are counted each time, which takes a microsecond at most. Most terms have only such lists. */
const cachedPostingsMin = 1024
/** A cached count is updated if its list has at least this many postings for each deletion since, or else recounted. */
const postingsPerDeletion = 16
/** About 10 MB a thread. Beyond it everything is counted again. */
const cachedCountsMax = 100_000
/** Each takes a quarter of a megabyte for a million chunks, in every thread. */
const cachedScopesMax = 64

/**
 * The statistics of one scope in one segment. Segments never change except for deletions, which are applied one by one.
 * The searchable fields are stored as two bits for each chunk, so that counting a posting list reads little memory.
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
    const { data, deletedAt } = segment
    const { chunkClass, chunkLength } = data
    const { table } = filter
    const titles = new Uint32Array((data.chunks + 31) >>> 5)
    const bodies = new Uint32Array(titles.length)
    let chunks = 0
    let totalLength = 0
    const anyDeletions = this.#deletions > 0
    for (let chunk = 0; chunk < data.chunks; chunk++) {
      let mask = table[chunkClass[chunk]!]!
      let length = chunkLength[chunk]!
      // Usually 0 or 3, in unpredictable order: one branch, not two, separates them from the others.
      if (mask * (mask - bothMask) !== 0) {
        mask = filter.maskOf(data, chunk)
        length = searchedLength(data, chunk, mask)
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
   * The chunks that may be searched as of the last `follow`, a bit each; `null` if some may be searched in just one
   * field.
   */
  get searchable(): Uint32Array | null {
    return this.#isBothOrNone ? this.#bodies : null
  }

  /** The chunks whose body may be searched as of the last `follow`, a bit each. */
  get bodies(): Uint32Array {
    return this.#bodies
  }

  get cachedCounts(): number {
    return this.#counts.size
  }

  /** Updates everything except the counts to this generation. */
  follow(generation: number): void {
    const deletions = deletionsAt(this.#segment, generation)
    const { data, deletionOrder } = this.#segment
    for (let i = this.#deletions; i < deletions; i++) {
      const chunk = deletionOrder[i]!
      const mask = this.#filter.maskOf(data, chunk)
      if (mask === 0) continue
      this.chunks--
      this.totalLength -= searchedLength(data, chunk, mask)
      this.#titles[chunk >>> 5]! &= ~(1 << chunk)
      this.#bodies[chunk >>> 5]! &= ~(1 << chunk)
    }
    this.#deletions = deletions
  }

  /** The number of chunks with the term, as of the last `follow`. */
  count(term: number): number {
    const { data } = this.#segment
    if (this.chunks === 0) return 0
    const [from, end] = postingRangeOf(data, term)
    if (this.chunks === data.chunks && this.#isBothOrNone) return end - from
    if (end - from < cachedPostingsMin) return this.#walk(from, end)
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
    if (this.chunks === this.#segment.data.chunks && this.#isBothOrNone) return all
    let count = 0
    for (let i = 0; i < titles.length; i++) {
      count += countBits((this.#titles[i]! & titles[i]!) | (this.#bodies[i]! & bodies[i]!))
    }
    return count
  }

  #walk(from: number, end: number): number {
    const { data } = this.#segment
    const { postingChunk } = data
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
      if (mask !== 0 && (mask & fieldsAt(data, posting)) !== 0) count++
    }
    return count
  }

  /** The number of chunks deleted since `before` that contained the term where it may be searched. */
  #countDeleted(term: number, before: number): number {
    const { data, deletionOrder } = this.#segment
    const cursor = new PostingCursor(data, term, 0)
    let count = 0
    for (let i = before; i < this.#deletions; i++) {
      const chunk = deletionOrder[i]!
      if (weighFrequency(cursor.frequency(chunk), this.#filter.maskOf(data, chunk), 1) > 0) count++
    }
    return count
  }
}

/** The statistics of one scope in each segment of the last list. */
interface CachedScope {
  readonly filter: CompiledFilter
  segments: readonly Segment[]
  readonly bySegment: Map<Segment, SegmentStatistics>
}

/**
 * Computes the statistics of a scope over all segments, and caches its counts for the next search with the same scope.
 * Threads that share a search all compute the statistics of the whole index, each with its own cache.
 */
export class StatisticsCache {
  readonly #classes: readonly FilterClass[]
  readonly #scopes = new LRUCache<string, CachedScope>({ max: cachedScopesMax })
  #cachedCounts = 0

  constructor(classes: readonly FilterClass[]) {
    this.#classes = classes
  }

  /** Returns `null` if the time runs out. */
  gather(
    scope: Scope,
    { segments, generation }: SearchView,
    terms: readonly number[],
    prefixed: ReadonlyMap<string, PrefixLists>,
    deadline: number,
  ): ScopeStatistics | null {
    const cached = this.#cachedScope(scope, segments)
    let chunks = 0
    let totalLength = 0
    const counts = new Float64Array(terms.length)
    const prefixCounts = new Map<string, number>()
    for (const segment of segments) {
      if (performance.now() > deadline) return null
      const statistics = statisticsIn(cached, segment, generation)
      chunks += statistics.chunks
      totalLength += statistics.totalLength
      terms.forEach((term, i) => {
        counts[i]! += this.#count(statistics, term)
      })
      for (const [prefix, lists] of prefixed) {
        const count = statistics.countPrefix(lists.get(segment.data)!)
        prefixCounts.set(prefix, (prefixCounts.get(prefix) ?? 0) + count)
      }
    }
    return { chunks, totalLength, counts: new Map(terms.map((term, i) => [term, counts[i]!])), prefixCounts }
  }

  /** The chunks of a segment that the scope may search, as in `SegmentStatistics.searchable`. */
  searchable(scope: Scope, { segments, generation }: SearchView): (segment: Segment) => Uint32Array | null {
    const cached = this.#cachedScope(scope, segments)
    return (segment) => statisticsIn(cached, segment, generation).searchable
  }

  /** The chunks of a segment whose body the scope may search. */
  bodies(scope: Scope, { segments, generation }: SearchView): (segment: Segment) => Uint32Array {
    const cached = this.#cachedScope(scope, segments)
    return (segment) => statisticsIn(cached, segment, generation).bodies
  }

  /** The number of chunks of a segment that contain a term where the scope may search it. */
  counter(scope: Scope, { segments, generation }: SearchView): (segment: Segment, term: number) => number {
    const cached = this.#cachedScope(scope, segments)
    return (segment, term) => this.#count(statisticsIn(cached, segment, generation), term)
  }

  #count(statistics: SegmentStatistics, term: number): number {
    const cachedBefore = statistics.cachedCounts
    const count = statistics.count(term)
    this.#cachedCounts += statistics.cachedCounts - cachedBefore
    return count
  }

  /** Must be called when class numbers change their meaning. */
  clear(): void {
    this.#scopes.clear()
    this.#cachedCounts = 0
  }

  #cachedScope(scope: Scope, segments: readonly Segment[]): CachedScope {
    if (this.#cachedCounts > cachedCountsMax) this.clear()
    const key = scopeKey(scope)
    const cached = this.#scopes.get(key) ?? {
      filter: new CompiledFilter(scope, noFilters, this.#classes),
      segments,
      bySegment: new Map(),
    }
    this.#scopes.set(key, cached)
    cached.filter.extend()
    if (cached.segments !== segments) {
      const listed = new Set(segments)
      for (const segment of cached.bySegment.keys()) if (!listed.has(segment)) cached.bySegment.delete(segment)
      cached.segments = segments
    }
    return cached
  }
}

/** The statistics of a segment, updated to the generation. */
function statisticsIn({ filter, bySegment }: CachedScope, segment: Segment, generation: number): SegmentStatistics {
  const statistics = bySegment.get(segment) ?? new SegmentStatistics(segment, filter, generation)
  bySegment.set(segment, statistics)
  statistics.follow(generation)
  return statistics
}
