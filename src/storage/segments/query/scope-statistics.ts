import type { Scope } from '../../../access/scope.ts'
import { noFilters } from '../../../search/search-index.ts'
import type { FilterClass } from '../format/filter-classes.ts'
import { deathsAt, type SearchView, type Segment } from '../memory/segment.ts'
import { PostingCursor, searchedLength, weighFrequency } from './chunk-scorer.ts'
import { bothMask, type CompiledFilter, FilterCache } from './compile-filter.ts'
import { type KeywordKernel, rangeOf } from './keyword-kernel.ts'
import type { ScopeStatistics } from './plan-keyword.ts'

/** Shorter lists are counted again each time: a microsecond at most, and most terms have only such. */
const keptPostingsLeast = 1024
/** Deaths since a list was counted are looked up in it while there are this many times fewer of them than postings. */
const postingsPerDeath = 16
/** About 10 MB a thread. Beyond it everything is counted anew. */
const countsKept = 100_000

/** One scope's share in one segment. Segments never change but for deaths, which are followed one by one. */
class SegmentStatistics {
  chunks = 0
  totalLength = 0
  readonly #segment: Segment
  readonly #filter: CompiledFilter
  /** Both fields of all chunks, the dead included. */
  #whole = true
  #deaths: number
  readonly #counts = new Map<number, { count: number; deaths: number }>()

  constructor(segment: Segment, filter: CompiledFilter, generation: number) {
    this.#segment = segment
    this.#filter = filter
    this.#deaths = deathsAt(segment, generation)
    const { image, died } = segment
    for (let chunk = 0; chunk < image.chunks; chunk++) {
      const mask = filter.maskOf(image, chunk)
      if (mask !== bothMask) this.#whole = false
      if (mask === 0 || died[chunk]! <= generation) continue
      this.chunks++
      this.totalLength += searchedLength(image, chunk, mask)
    }
  }

  get kept(): number {
    return this.#counts.size
  }

  /** Brings the chunks and their length to what they are at this generation. */
  follow(generation: number): void {
    const deaths = deathsAt(this.#segment, generation)
    const { image, deathOrder } = this.#segment
    for (const chunk of deathOrder.subarray(this.#deaths, deaths)) {
      const mask = this.#filter.maskOf(image, chunk)
      if (mask === 0) continue
      this.chunks--
      this.totalLength -= searchedLength(image, chunk, mask)
    }
    this.#deaths = deaths
  }

  /** After `follow` for the same generation. */
  count(term: number, generation: number, kernel: KeywordKernel): number {
    const deaths = this.#deaths
    const [from, end] = rangeOf(this.#segment.image, term)
    const postings = end - from
    if (postings === 0 || this.chunks === 0) return 0
    if (this.#whole && deaths === 0) return postings
    const counted = () => kernel.count({ ...this.#segment, generation, filter: this.#filter }, term)
    if (postings < keptPostingsLeast) return counted()
    const known = this.#counts.get(term)
    if (known === undefined || (deaths - known.deaths) * postingsPerDeath > postings) {
      const count = counted()
      this.#counts.set(term, { count, deaths })
      return count
    }
    if (known.deaths < deaths) known.count -= this.#countDead(term, known.deaths)
    known.deaths = deaths
    return known.count
  }

  /** How many of those that died since `before` held the term where it may be searched. */
  #countDead(term: number, before: number): number {
    const { image, deathOrder } = this.#segment
    const cursor = new PostingCursor(image, term, 0)
    let count = 0
    for (const chunk of deathOrder.subarray(before, this.#deaths)) {
      if (weighFrequency(cursor.frequency(chunk), this.#filter.maskOf(image, chunk), 1) > 0) count++
    }
    return count
  }
}

/**
 * Gathers the statistics of a scope over all segments, and keeps what it counted for the next search of the same scope. A
 * thread that shares a search gathers those of the whole index, as the others do, each from what it keeps.
 */
export class StatisticsCache {
  readonly #kernel: KeywordKernel
  readonly #scopes: FilterCache
  #segments = new WeakMap<CompiledFilter, WeakMap<Segment, SegmentStatistics>>()
  #kept = 0

  constructor(classes: readonly FilterClass[], kernel: KeywordKernel) {
    this.#scopes = new FilterCache(classes)
    this.#kernel = kernel
  }

  /** `null` when time runs out. */
  gather(
    scope: Scope,
    { segments, generation }: SearchView,
    terms: Iterable<number>,
    deadline: number,
  ): ScopeStatistics | null {
    if (this.#kept > countsKept) this.#forgetCounts()
    const filter = this.#scopes.filterFor(scope, noFilters)
    const bySegment = this.#segmentsOf(filter)
    this.#kernel.setFilter(filter)
    let chunks = 0
    let totalLength = 0
    const counts = new Map([...terms].map((term) => [term, 0]))
    for (const segment of segments) {
      if (performance.now() > deadline) return null
      const own = bySegment.get(segment) ?? new SegmentStatistics(segment, filter, generation)
      bySegment.set(segment, own)
      const keptBefore = own.kept
      own.follow(generation)
      chunks += own.chunks
      totalLength += own.totalLength
      for (const [term, count] of counts) counts.set(term, count + own.count(term, generation, this.#kernel))
      this.#kept += own.kept - keptBefore
    }
    return { chunks, totalLength, counts }
  }

  /** Classes that are numbered anew make all of it void. */
  clear(): void {
    this.#scopes.clear()
    this.#forgetCounts()
  }

  #forgetCounts(): void {
    this.#segments = new WeakMap()
    this.#kept = 0
  }

  #segmentsOf(filter: CompiledFilter): WeakMap<Segment, SegmentStatistics> {
    const bySegment = this.#segments.get(filter) ?? new WeakMap<Segment, SegmentStatistics>()
    this.#segments.set(filter, bySegment)
    return bySegment
  }
}
