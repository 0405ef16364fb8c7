import { segmentChunksMax } from '../format/segment-data.ts'
import type { OpenColumn, Segment } from '../memory/segment.ts'
import type { Products, VectorKernel } from './vector-kernel.ts'

/**
 * The second step of a vector search: estimates cosines from int8 codes, for rows that are near by their binary codes.
 *
 * If some rows are much nearer than the rest, most of those that the binary codes keep need not be compared. The
 * nearest eighth is compared, and a sample of one in 16 of the others. The sample shows how cosines fall with distance
 * and how far they scatter, and the kernel has counted the rows at each distance. That gives the expected number of
 * rows at each distance that are still among the best; distances beyond which hardly any is expected are skipped.
 */
export interface KeptByCodes {
  readonly columns: readonly NearColumn[]
  /** The largest distance that is kept: a column may have rows that are farther. */
  readonly limit: number
}

export interface Candidate {
  readonly segment: number
  readonly chunk: number
  readonly score: number
}

interface Int8Search {
  readonly kernel: VectorKernel
  readonly best: BestSoFar
  readonly deadline: number
}

/** Rows of one segment's column, and their distances by binary codes. */
export interface NearColumn extends Found {
  readonly segment: number
  readonly open: OpenColumn
}

interface Found {
  readonly rows: Uint16Array
  readonly distances: Uint16Array
}

/** The number of nearest rows that are always compared, at least, and their share of all. */
const nearestMin = 1024
const nearestShare = 1 / 8
const triedStep = 16
/** A smaller sample says too little about the others, and all are compared. */
const triedMin = 64
/**
 * The share of the best that may be missed if cosines are normally distributed. They are only roughly normal, so their
 * standard deviation is widened.
 */
const missedShare = 0.0005
const widened = 1.15

/** The rows that may be among the nearest by their int8 codes; `null` if the time ran out. */
export function nearestByInt8(
  { kernel, best, deadline }: Int8Search,
  { columns, limit }: KeptByCodes,
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

/**
 * Branch-free, because the branch would be unpredictable, and not in place, because each step would wait for the
 * previous write.
 */
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

/** The rows within the limit that `everyFew` left out. */
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
 * Rounding a component to int8 has an error of up to half a step, uniformly distributed. A cosine has the sum of 384
 * such errors: nearly normal, with a standard deviation of the step divided by the square root of 12. This bound is
 * five deviations.
 */
const deviations = 5

/** The largest error of a cosine that is computed from int8 codes of these scales. */
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

  /** The lower bound of the last of the best rows so far. */
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

  /** The cosine of a row that was added last. */
  cosineOf(i: number): number {
    return this.#last.products[i]! * this.#last.scales[i]! * this.#queryScale
  }

  candidates(): Candidate[] {
    return this.#candidates.filter(({ most }) => most >= this.least)
  }
}

/** A regression line of cosines by distance over the sampled rows, with the standard deviation from it. */
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
   * The distance after which at most `missed` rows up to `limit` are expected to have a cosine above `least`. If a
   * sampled row beyond it has one all the same, because its binary code says little, nothing is left out.
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
      // An upper bound for the tail of the normal distribution so far above its mean.
      expected += (counts[distance]! * Math.exp(-((apart / deviation) ** 2) / 2)) / 2
      if (!(expected <= missed)) return distance
    }
    return nearest
  }
}

/** Knows the cosine of the last of the `wanted` best, or a slightly lower bound. */
export interface BestSoFar {
  readonly wanted: number
  readonly least: number
  add(cosine: number, segment: number, chunk: number): void
}

/** For chunks: counts their cosines in narrow classes. */
export class BestChunks implements BestSoFar {
  static readonly #classesOfOne = 8192
  least = -Infinity
  readonly wanted: number
  readonly #counts = new Uint32Array(2 * BestChunks.#classesOfOne + 1)
  /** The class of the last of the best, and the number of chunks in it and above. */
  #last = 0
  #above = 0

  constructor(wanted: number) {
    this.wanted = wanted
  }

  add(cosine: number): void {
    if (cosine >= this.least) this.count(this.classOf(cosine))
  }

  /** For a cosine that is not below the least. */
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

/** For documents: each counts by its nearest chunk. */
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

/** Combines two of these: takes the farther or the nearer of their last cosines. */
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
