import type { Scope } from '../../../access/scope.ts'
import { noFilters } from '../../../search/search-index.ts'
import { countBits } from '../format/count-bits.ts'
import type { FilterClass } from '../format/filter-classes.ts'
import { fieldsAt } from '../format/segment-image.ts'
import { deathsAt, type SearchView, type Segment } from '../memory/segment.ts'
import type { BegunChunks, BegunLists } from './begun-chunks.ts'
import { PostingCursor, searchedLength, weighFrequency } from './chunk-scorer.ts'
import { bodyMask, bothMask, CompiledFilter, titleMask } from './compile-filter.ts'
import { postingRangeOf } from './keyword-kernel.ts'
import type { ScopeStatistics } from './plan-keyword.ts'
import { RecentlyUsed } from './recently-used.ts'
import { scopeKey } from './scope-key.ts'

/** Shorter lists are counted again each time: a microsecond at most, and most terms have only such. */
const keptPostingsLeast = 1024
/** Deaths since a list was counted are looked up in it while there are this many times fewer of them than postings. */
const postingsPerDeath = 16
/** About 10 MB a thread. Beyond it everything is counted anew. */
const countsKeptMax = 100_000
/** Each takes a quarter of a megabyte for a million chunks, in every thread. */
const scopesKept = 64

/**
 * One scope's share in one segment. Segments never change but for deaths, which are followed one by one. What may be
 * searched is kept as two bits a chunk: a walk over postings that looks up so little takes a third of one that scores.
 */
class SegmentStatistics {
  chunks: number
  totalLength: number
  readonly #segment: Segment
  readonly #filter: CompiledFilter
  /** Chunks alive whose title, and whose body, may be searched. */
  readonly #titles: Uint32Array
  readonly #bodies: Uint32Array
  /** No chunk that may be searched in one field alone. */
  #isBothOrNone = true
  #deaths: number
  readonly #counts = new Map<number, { count: number; deaths: number }>()

  constructor(segment: Segment, filter: CompiledFilter, generation: number) {
    this.#segment = segment
    this.#filter = filter
    this.#deaths = deathsAt(segment, generation)
    const { image, died } = segment
    const { chunkClass, chunkLength } = image
    const { table } = filter
    const titles = new Uint32Array((image.chunks + 31) >>> 5)
    const bodies = new Uint32Array(titles.length)
    let chunks = 0
    let totalLength = 0
    const anyDeaths = this.#deaths > 0
    for (let chunk = 0; chunk < image.chunks; chunk++) {
      let mask = table[chunkClass[chunk]!]!
      let length = chunkLength[chunk]!
      // Mostly 0 or 3, in no order that could be foreseen: to tell those from the others takes one branch, not two.
      if (mask * (mask - bothMask) !== 0) {
        mask = filter.maskOf(image, chunk)
        length = searchedLength(image, chunk, mask)
        if (mask === titleMask || mask === bodyMask) this.#isBothOrNone = false
      }
      if (anyDeaths && died[chunk]! <= generation) continue
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

  /** As of the last `follow`: chunks that may be searched, a bit each; `null` where some may be in one field alone. */
  get searchable(): Uint32Array | null {
    return this.#isBothOrNone ? this.#bodies : null
  }

  /** As of the last `follow`: chunks whose body may be searched, a bit each. */
  get bodies(): Uint32Array {
    return this.#bodies
  }

  get kept(): number {
    return this.#counts.size
  }

  /** Brings everything but the counts to this generation. */
  follow(generation: number): void {
    const deaths = deathsAt(this.#segment, generation)
    const { image, deathOrder } = this.#segment
    for (let i = this.#deaths; i < deaths; i++) {
      const chunk = deathOrder[i]!
      const mask = this.#filter.maskOf(image, chunk)
      if (mask === 0) continue
      this.chunks--
      this.totalLength -= searchedLength(image, chunk, mask)
      this.#titles[chunk >>> 5]! &= ~(1 << chunk)
      this.#bodies[chunk >>> 5]! &= ~(1 << chunk)
    }
    this.#deaths = deaths
  }

  /** As of the last `follow`. */
  count(term: number): number {
    const { image } = this.#segment
    if (this.chunks === 0) return 0
    const [from, end] = postingRangeOf(image, term)
    if (this.chunks === image.chunks && this.#isBothOrNone) return end - from
    if (end - from < keptPostingsLeast) return this.#walk(from, end)
    const known = this.#counts.get(term)
    if (known === undefined || (this.#deaths - known.deaths) * postingsPerDeath > end - from) {
      const count = this.#walk(from, end)
      this.#counts.set(term, { count, deaths: this.#deaths })
      return count
    }
    if (known.deaths < this.#deaths) known.count -= this.#countDead(term, known.deaths)
    known.deaths = this.#deaths
    return known.count
  }

  /** Of these chunks, as of the last `follow`. */
  countBegun({ titles, bodies, count: all }: BegunChunks): number {
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

  /** How many of those that died since `before` held the term where it may be searched. */
  #countDead(term: number, before: number): number {
    const { image, deathOrder } = this.#segment
    const cursor = new PostingCursor(image, term, 0)
    let count = 0
    for (let i = before; i < this.#deaths; i++) {
      const chunk = deathOrder[i]!
      if (weighFrequency(cursor.frequency(chunk), this.#filter.maskOf(image, chunk), 1) > 0) count++
    }
    return count
  }
}

/** What is kept of one scope: its share in each segment of the list it was last asked for. */
interface ScopeShare {
  readonly filter: CompiledFilter
  segments: readonly Segment[]
  readonly shares: Map<Segment, SegmentStatistics>
}

/**
 * Gathers the statistics of a scope over all segments, and keeps what it counted for the next search of the same scope. A
 * thread that shares a search gathers those of the whole index, as the others do, each from what it keeps.
 */
export class StatisticsCache {
  readonly #classes: readonly FilterClass[]
  readonly #scopes = new RecentlyUsed<ScopeShare>(scopesKept)
  #countsKept = 0

  constructor(classes: readonly FilterClass[]) {
    this.#classes = classes
  }

  /** `null` when time runs out. */
  gather(
    scope: Scope,
    { segments, generation }: SearchView,
    terms: readonly number[],
    begun: ReadonlyMap<string, BegunLists>,
    deadline: number,
  ): ScopeStatistics | null {
    const scopeShare = this.#shareOf(scope, segments)
    let chunks = 0
    let totalLength = 0
    const counts = new Float64Array(terms.length)
    const begunCounts = new Map<string, number>()
    for (const segment of segments) {
      if (performance.now() > deadline) return null
      const share = segmentShare(scopeShare, segment, generation)
      chunks += share.chunks
      totalLength += share.totalLength
      terms.forEach((term, i) => {
        counts[i]! += this.#count(share, term)
      })
      for (const [beginning, lists] of begun) {
        const count = share.countBegun(lists.get(segment.image)!)
        begunCounts.set(beginning, (begunCounts.get(beginning) ?? 0) + count)
      }
    }
    return { chunks, totalLength, counts: new Map(terms.map((term, i) => [term, counts[i]!])), begunCounts }
  }

  /** Which chunks of a segment the scope may search, as `SegmentStatistics.searchable`. */
  searchable(scope: Scope, { segments, generation }: SearchView): (segment: Segment) => Uint32Array | null {
    const share = this.#shareOf(scope, segments)
    return (segment) => segmentShare(share, segment, generation).searchable
  }

  /** Chunks of a segment whose body the scope may search. */
  bodies(scope: Scope, { segments, generation }: SearchView): (segment: Segment) => Uint32Array {
    const share = this.#shareOf(scope, segments)
    return (segment) => segmentShare(share, segment, generation).bodies
  }

  /** How many chunks of a segment hold a term where the scope may search it. */
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

  /** Classes that are numbered anew make all of it void. */
  clear(): void {
    this.#scopes.clear()
    this.#countsKept = 0
  }

  #shareOf(scope: Scope, segments: readonly Segment[]): ScopeShare {
    if (this.#countsKept > countsKeptMax) this.clear()
    const share = this.#scopes.get(scopeKey(scope), () => ({
      filter: new CompiledFilter(scope, noFilters, this.#classes),
      segments,
      shares: new Map(),
    }))
    share.filter.extend()
    if (share.segments !== segments) {
      const listed = new Set(segments)
      for (const segment of share.shares.keys()) if (!listed.has(segment)) share.shares.delete(segment)
      share.segments = segments
    }
    return share
  }
}

/** One that is brought to the generation. */
function segmentShare({ filter, shares }: ScopeShare, segment: Segment, generation: number): SegmentStatistics {
  const share = shares.get(segment) ?? new SegmentStatistics(segment, filter, generation)
  shares.set(segment, share)
  share.follow(generation)
  return share
}
