import { segmentChunksMax } from '../format/segment-image.ts'
import type { OpenColumn, Segment } from '../memory/segment.ts'
import type { Products, VectorKernel } from './vector-kernel.ts'

/**
 * The second step of a vector search: cosines from bytes, of rows that are near by their signs.
 *
 * Where some rows are much nearer than the rest, most of those that the signs keep need not be compared: the nearest eighth
 * is, and of the others one in 16. Those tell how cosines fall with distance and how far they are spread, and the kernel has
 * counted how many rows lie at each distance: so it is known how many of them may still be among the best, and at the far
 * end as many are left out as have hardly one among them. Among 1,000,000 generated vectors that are near to some of them
 * 4,000 rows are compared instead of 22,000 for the first 60; where nothing is near, all of them are.
 */
export interface KeptBySigns {
  readonly columns: readonly NearColumn[]
  /** The largest distance that is kept: a column may have rows that are farther. */
  readonly limit: number
}

export interface Candidate {
  readonly segment: number
  readonly chunk: number
  readonly score: number
}

interface BytesSearch {
  readonly kernel: VectorKernel
  readonly best: BestSoFar
  readonly deadline: number
}

/** Rows of one segment's column, and their distances by signs. */
export interface NearColumn extends Found {
  readonly segment: number
  readonly open: OpenColumn
}

interface Found {
  readonly rows: Uint16Array
  readonly distances: Uint16Array
}

/** So many of the nearest are compared in any case, and one in so many of the others. */
const nearestMin = 1024
const nearestShare = 1 / 8
const triedStep = 16
/** Fewer tell too little of the others, and all are compared. */
const triedMin = 64
/** Of the best so many may be missed, as a share, if cosines are normal; because they are not quite, their spread is taken wider. */
const missedShare = 0.0005
const widened = 1.15

/** Those that may be among the nearest by what the bytes say; `null` when time ran out. */
export function nearestByBytes(
  { kernel, best, deadline }: BytesSearch,
  { columns, limit }: KeptBySigns,
  queryScale: number,
): Candidate[] | null {
  const nearest = distanceOfNearest(kernel.counts, limit)
  const compared = new ComparedRows(kernel, best, queryScale)
  const others: NearColumn[] = []
  const line = new Line()
  for (const column of columns) {
    if (performance.now() > deadline) return null
    const { near, farther } = split(column, nearest, limit)
    compared.add(column, near)
    others.push({ ...column, ...farther })
  }
  for (const column of others) {
    const { rows, distances } = everyFew(column)
    compared.add(column, rows)
    for (let i = 0; i < rows.length; i++) line.add(distances[i]!, compared.cosineOf(i))
  }
  const likely = line.lastLikely(kernel.counts, nearest, limit, compared.least, missedShare * best.wanted)
  for (const column of likely > nearest ? others : []) {
    if (performance.now() > deadline) return null
    compared.add(column, othersWithin(column, likely))
  }
  return compared.candidates()
}

function distanceOfNearest(counts: Uint32Array, limit: number): number {
  let all = 0
  for (let distance = 0; distance <= limit; distance++) all += counts[distance]!
  const wanted = Math.max(nearestMin, all * nearestShare)
  let distance = -1
  for (let within = 0; within < wanted && distance < limit; ) within += counts[++distance]!
  return distance
}

/** Without a branch, which could not be foreseen, and not in place, where each step would wait for what the last one wrote. */
function split({ rows, distances }: Found, nearest: number, limit: number): { near: Uint16Array; farther: Found } {
  const near = new Uint16Array(rows.length)
  const farther = new Uint16Array(rows.length)
  const fartherDistances = new Uint16Array(rows.length)
  let nearCount = 0
  let fartherCount = 0
  for (let i = 0; i < rows.length; i++) {
    const distance = distances[i]!
    near[nearCount] = rows[i]!
    farther[fartherCount] = rows[i]!
    fartherDistances[fartherCount] = distance
    const isNear = Number(distance <= nearest)
    nearCount += isNear
    fartherCount += Number(distance <= limit) - isNear
  }
  return {
    near: near.subarray(0, nearCount),
    farther: { rows: farther.subarray(0, fartherCount), distances: fartherDistances.subarray(0, fartherCount) },
  }
}

function everyFew({ rows, distances }: Found): Found {
  const few = Math.ceil(rows.length / triedStep)
  const tried = { rows: new Uint16Array(few), distances: new Uint16Array(few) }
  for (let i = 0; i < few; i++) {
    tried.rows[i] = rows[i * triedStep]!
    tried.distances[i] = distances[i * triedStep]!
  }
  return tried
}

/** Those that `everyFew` left out. */
function othersWithin({ rows, distances }: Found, limit: number): Uint16Array {
  const kept = new Uint16Array(rows.length)
  let count = 0
  for (let i = 0; i < rows.length; i++) {
    kept[count] = rows[i]!
    count += Number(distances[i]! <= limit) & Number(i % triedStep !== 0)
  }
  return kept.subarray(0, count)
}

/**
 * A component that is rounded to a byte is off by up to half a step, evenly spread, and a cosine by the sum of 384 such
 * errors: nearly normal, its deviation the step by the root of 12. Of 162,948 cosines of real vectors the farthest was
 * 4.3 deviations off.
 */
const deviations = 5

/** How far a cosine may be off that is worked out from bytes of these scales. */
export const coarseError = (scale: number, queryScale: number): number =>
  ((scale + queryScale) * deviations) / Math.sqrt(12)

class ComparedRows {
  readonly #kernel: VectorKernel
  readonly #queryScale: number
  readonly #surely: BestSoFar
  readonly #candidates: (Candidate & { readonly most: number })[] = []
  #last: Products = { products: new Int32Array(0), scales: new Float32Array(0) }

  constructor(kernel: VectorKernel, surely: BestSoFar, queryScale: number) {
    this.#kernel = kernel
    this.#queryScale = queryScale
    this.#surely = surely
  }

  /** What the last of the best has at least, of all that were compared. */
  get least(): number {
    return this.#surely.least
  }

  add({ segment, open }: NearColumn, rows: Uint16Array): void {
    this.#last = this.#kernel.productsOf(open, rows)
    const { scales } = this.#last
    for (let i = 0; i < rows.length; i++) {
      const score = this.cosineOf(i)
      const error = coarseError(scales[i]!, this.#queryScale)
      const most = score + error
      if (most < this.#surely.least) continue
      const chunk = open.column.chunkOf(rows[i]!)
      this.#surely.add(score - error, segment, chunk)
      this.#candidates.push({ segment, chunk, score, most })
    }
  }

  /** Of the rows that were added last. */
  cosineOf(i: number): number {
    return this.#last.products[i]! * this.#last.scales[i]! * this.#queryScale
  }

  candidates(): Candidate[] {
    return this.#candidates.filter(({ most }) => most >= this.least)
  }
}

/** How cosines follow distances: a straight line through those that were tried, and how far they lie from it. */
class Line {
  readonly #tried: { readonly distance: number; readonly cosine: number }[] = []
  #distances = 0
  #cosines = 0
  #distanceSquares = 0
  #cosineSquares = 0
  #products = 0

  add(distance: number, cosine: number): void {
    this.#tried.push({ distance, cosine })
    this.#distances += distance
    this.#cosines += cosine
    this.#distanceSquares += distance * distance
    this.#cosineSquares += cosine * cosine
    this.#products += distance * cosine
  }

  /**
   * The distance after which at most `missed` rows up to `limit` are to be expected with a cosine above `least`. Where one that
   * was tried lies there all the same, as one can whose signs say little of it, nothing is left out.
   */
  lastLikely(counts: Uint32Array, nearest: number, limit: number, least: number, missed: number): number {
    const likely = this.#tried.length < triedMin ? limit : this.#lastExpected(counts, nearest, limit, least, missed)
    return this.#tried.some(({ distance, cosine }) => distance > likely && cosine > least) ? limit : likely
  }

  #lastExpected(counts: Uint32Array, nearest: number, limit: number, least: number, missed: number): number {
    const count = this.#tried.length
    const [middle, mean] = [this.#distances / count, this.#cosines / count]
    const common = this.#products / count - middle * mean
    const slope = common / Math.max(1, this.#distanceSquares / count - middle ** 2)
    const variance = this.#cosineSquares / count - mean ** 2 - slope * common
    const deviation = widened * Math.sqrt(Math.max(0, variance))
    let expected = 0
    for (let distance = limit; distance > nearest; distance--) {
      const apart = Math.max(0, least - mean - slope * (distance - middle))
      // More than the share of a normal distribution that lies so far above its mean.
      expected += (counts[distance]! * Math.exp(-((apart / deviation) ** 2) / 2)) / 2
      if (!(expected <= missed)) return distance
    }
    return nearest
  }
}

/** Knows the last of the best so many cosines, or a little less than it. */
export interface BestSoFar {
  readonly wanted: number
  readonly least: number
  add(cosine: number, segment: number, chunk: number): void
}

/** Of chunks: their cosines are counted in narrow classes. */
export class BestChunks implements BestSoFar {
  static readonly #classesOfOne = 8192
  least = -Infinity
  readonly wanted: number
  readonly #counts = new Uint32Array(2 * BestChunks.#classesOfOne + 1)
  /** The class of the last of the best, and how many are in it and above. */
  #last = 0
  #above = 0

  constructor(wanted: number) {
    this.wanted = wanted
  }

  add(cosine: number): void {
    if (cosine >= this.least) this.count(this.classOf(cosine))
  }

  /** Of a cosine that is not below the least. */
  classOf(cosine: number): number {
    const place = Math.floor((cosine + 1) * BestChunks.#classesOfOne)
    return Math.min(Math.max(this.#last, place), this.#counts.length - 1)
  }

  count(place: number): void {
    this.#counts[place]!++
    this.#above++
    while (this.#above - this.#counts[this.#last]! >= this.wanted) {
      this.#above -= this.#counts[this.#last++]!
      this.least = this.#last / BestChunks.#classesOfOne - 1
    }
  }

  takeBack(place: number): void {
    if (place < this.#last) return
    this.#counts[place]!--
    this.#above--
  }
}

/** Of documents: each counts by its nearest chunk. */
export class BestDocuments implements BestSoFar {
  readonly #best: BestChunks
  readonly #segments: readonly Segment[]
  readonly #classes = new Map<number, number>()

  constructor(wanted: number, segments: readonly Segment[]) {
    this.#best = new BestChunks(wanted)
    this.#segments = segments
  }

  get wanted(): number {
    return this.#best.wanted
  }

  get least(): number {
    return this.#best.least
  }

  add(cosine: number, segment: number, chunk: number): void {
    if (cosine < this.#best.least) return
    const document = segment * segmentChunksMax + this.#segments[segment]!.image.chunkDocument[chunk]!
    const known = this.#classes.get(document) ?? -1
    const place = this.#best.classOf(cosine)
    if (place <= known) return
    if (known >= 0) this.#best.takeBack(known)
    this.#best.count(place)
    this.#classes.set(document, place)
  }
}

/** Of two that each know the last of theirs: the one that is farther, or the one that is nearer. */
export class BestOfTwo implements BestSoFar {
  readonly #one: BestSoFar
  readonly #other: BestSoFar
  readonly #isFarther: boolean

  constructor(which: 'farther' | 'nearer', one: BestSoFar, other: BestSoFar) {
    this.#one = one
    this.#other = other
    this.#isFarther = which === 'farther'
  }

  get wanted(): number {
    const [one, other] = [this.#one.wanted, this.#other.wanted]
    return this.#isFarther ? Math.max(one, other) : Math.min(one, other)
  }

  get least(): number {
    const [one, other] = [this.#one.least, this.#other.least]
    return this.#isFarther ? Math.min(one, other) : Math.max(one, other)
  }

  add(cosine: number, segment: number, chunk: number): void {
    this.#one.add(cosine, segment, chunk)
    this.#other.add(cosine, segment, chunk)
  }
}
