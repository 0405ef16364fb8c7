import { segmentChunksMax } from '../format/segment-data.ts'
import type { OpenColumn, Segment } from '../memory/segment.ts'
import type { Products, VectorKernel } from './vector-kernel.ts'

/**
 * The second step of a vector search: estimates cosines from int8 codes, for rows that are near by their binary codes.
 *
 * If some rows are much nearer than the rest, most of those that the binary codes keep need not be compared. The
 * nearest eighth is compared, and a sample of one in 16 of the others. The sample shows how cosines fall with distance
 * and how far they scatter, and the kernel has counted the rows at each distance. Together they give the expected
 * number of rows at each distance that are still among the best; distances beyond which hardly any is expected are
 * skipped.
 */
export interface NearestRows {
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

/** The nearest rows that are always compared: at least this number, and at least this share of all. */
const nearestMin = 1024
const nearestShare = 1 / 8
const sampleStep = 16
/** A smaller sample says too little about the other rows, so that all are compared. */
const sampleMin = 64
/**
 * The share of the best that may be missed if cosines are normally distributed. They are only roughly normal, so the
 * standard deviation is multiplied by `deviationFactor`.
 */
const missedShare = 0.0005
const deviationFactor = 1.15

/** Returns the rows that may be among the nearest by their int8 codes; `null` if the time ran out. */
export function nearestByInt8(
  { kernel, best, deadline }: Int8Search,
  { columns, limit }: NearestRows,
  queryScale: number,
): Candidate[] | null {
  const nearest = distanceOfNearest(kernel.counts, limit)
  const compared = new ComparedRows(kernel, best, queryScale)
  const others: NearColumn[] = []
  const line = new RegressionLine()
  for (const column of columns) {
    if (performance.now() > deadline) return null
    const { near, farther } = split(column, nearest, limit)
    compared.add(column, near)
    others.push({ ...column, ...farther })
  }
  for (const column of others) {
    const { rows, distances } = sampleOf(column)
    compared.add(column, rows)
    for (let i = 0; i < rows.length; i++) line.add(distances[i]!, compared.cosineOf(i))
  }
  const likely = line.farthestLikely(kernel.counts, nearest, limit, compared.threshold, missedShare * best.k)
  for (const column of likely > nearest ? others : []) {
    if (performance.now() > deadline) return null
    compared.add(column, othersWithin(column, likely))
  }
  return compared.candidates()
}

function distanceOfNearest(counts: Uint32Array, limit: number): number {
  let all = 0
  for (let distance = 0; distance <= limit; distance++) all += counts[distance]!
  const target = Math.max(nearestMin, all * nearestShare)
  let distance = -1
  for (let within = 0; within < target && distance < limit; ) within += counts[++distance]!
  return distance
}

/**
 * Branch-free, because the branch would be unpredictable; not in place, because each step would wait for the previous
 * write.
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

function sampleOf({ rows, distances }: Found): Found {
  const count = Math.ceil(rows.length / sampleStep)
  const sample = { rows: new Uint16Array(count), distances: new Uint16Array(count) }
  for (let i = 0; i < count; i++) {
    sample.rows[i] = rows[i * sampleStep]!
    sample.distances[i] = distances[i * sampleStep]!
  }
  return sample
}

/** The rows within the limit that `sampleOf` left out. */
function othersWithin({ rows, distances }: Found, limit: number): Uint16Array {
  const kept = new Uint16Array(rows.length)
  let count = 0
  for (let i = 0; i < rows.length; i++) {
    kept[count] = rows[i]!
    count += Number(distances[i]! <= limit) & Number(i % sampleStep !== 0)
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
  readonly #lowerBounds: BestSoFar
  readonly #candidates: (Candidate & { readonly upperBound: number })[] = []
  #last: Products = { products: new Int32Array(0), scales: new Float32Array(0) }

  constructor(kernel: VectorKernel, lowerBounds: BestSoFar, queryScale: number) {
    this.#kernel = kernel
    this.#queryScale = queryScale
    this.#lowerBounds = lowerBounds
  }

  /** A lower bound of the cosine of the k-th best row so far. */
  get threshold(): number {
    return this.#lowerBounds.threshold
  }

  add({ segment, open }: NearColumn, rows: Uint16Array): void {
    this.#last = this.#kernel.productsOf(open, rows)
    const { scales } = this.#last
    for (let i = 0; i < rows.length; i++) {
      const score = this.cosineOf(i)
      const error = coarseError(scales[i]!, this.#queryScale)
      const upperBound = score + error
      if (upperBound < this.#lowerBounds.threshold) continue
      const chunk = open.column.chunkOf(rows[i]!)
      this.#lowerBounds.add(score - error, segment, chunk)
      this.#candidates.push({ segment, chunk, score, upperBound })
    }
  }

  /** The cosine of a row that was added last. */
  cosineOf(i: number): number {
    return this.#last.products[i]! * this.#last.scales[i]! * this.#queryScale
  }

  candidates(): Candidate[] {
    return this.#candidates.filter(({ upperBound }) => upperBound >= this.threshold)
  }
}

/** A regression line of cosines by distance over the sampled rows, with the standard deviation from it. */
class RegressionLine {
  readonly #sample: { readonly distance: number; readonly cosine: number }[] = []
  #distances = 0
  #cosines = 0
  #distanceSquares = 0
  #cosineSquares = 0
  #products = 0

  add(distance: number, cosine: number): void {
    this.#sample.push({ distance, cosine })
    this.#distances += distance
    this.#cosines += cosine
    this.#distanceSquares += distance * distance
    this.#cosineSquares += cosine * cosine
    this.#products += distance * cosine
  }

  /**
   * The distance beyond which at most `missed` rows up to `limit` are expected to have a cosine above `threshold`. If a
   * sampled row beyond it has such a cosine, because its binary code says little, nothing is left out.
   */
  farthestLikely(counts: Uint32Array, nearest: number, limit: number, threshold: number, missed: number): number {
    const likely =
      this.#sample.length < sampleMin ? limit : this.#lastExpected(counts, nearest, limit, threshold, missed)
    return this.#sample.some(({ distance, cosine }) => distance > likely && cosine > threshold) ? limit : likely
  }

  #lastExpected(counts: Uint32Array, nearest: number, limit: number, threshold: number, missed: number): number {
    const count = this.#sample.length
    const [middle, mean] = [this.#distances / count, this.#cosines / count]
    const common = this.#products / count - middle * mean
    const slope = common / Math.max(1, this.#distanceSquares / count - middle ** 2)
    const variance = this.#cosineSquares / count - mean ** 2 - slope * common
    const deviation = deviationFactor * Math.sqrt(Math.max(0, variance))
    let expected = 0
    for (let distance = limit; distance > nearest; distance--) {
      const apart = Math.max(0, threshold - mean - slope * (distance - middle))
      // An upper bound for the tail of the normal distribution so far above its mean.
      expected += (counts[distance]! * Math.exp(-((apart / deviation) ** 2) / 2)) / 2
      if (!(expected <= missed)) return distance
    }
    return nearest
  }
}

/** Knows the cosine of the k-th best, or a slightly lower bound: the threshold. */
export interface BestSoFar {
  readonly k: number
  readonly threshold: number
  add(cosine: number, segment: number, chunk: number): void
}

/** For chunks: a histogram of their cosines with narrow buckets. */
export class BestChunks implements BestSoFar {
  static readonly #bucketsPerUnit = 8192
  threshold = -Infinity
  readonly k: number
  readonly #counts = new Uint32Array(2 * BestChunks.#bucketsPerUnit + 1)
  /** The bucket of the k-th best chunk, and the number of chunks in it and above. */
  #last = 0
  #above = 0

  constructor(k: number) {
    this.k = k
  }

  add(cosine: number): void {
    if (cosine >= this.threshold) this.count(this.bucketOf(cosine))
  }

  /** For a cosine that is not below the threshold. */
  bucketOf(cosine: number): number {
    const bucket = Math.floor((cosine + 1) * BestChunks.#bucketsPerUnit)
    return Math.min(Math.max(this.#last, bucket), this.#counts.length - 1)
  }

  count(bucket: number): void {
    this.#counts[bucket]!++
    this.#above++
    while (this.#above - this.#counts[this.#last]! >= this.k) {
      this.#above -= this.#counts[this.#last++]!
      this.threshold = this.#last / BestChunks.#bucketsPerUnit - 1
    }
  }

  uncount(bucket: number): void {
    if (bucket < this.#last) return
    this.#counts[bucket]!--
    this.#above--
  }
}

/** For documents: each counts with its nearest chunk. */
export class BestDocuments implements BestSoFar {
  readonly #best: BestChunks
  readonly #segments: readonly Segment[]
  readonly #buckets = new Map<number, number>()

  constructor(k: number, segments: readonly Segment[]) {
    this.#best = new BestChunks(k)
    this.#segments = segments
  }

  get k(): number {
    return this.#best.k
  }

  get threshold(): number {
    return this.#best.threshold
  }

  add(cosine: number, segment: number, chunk: number): void {
    if (cosine < this.#best.threshold) return
    const document = segment * segmentChunksMax + this.#segments[segment]!.data.chunkDocument[chunk]!
    const known = this.#buckets.get(document) ?? -1
    const bucket = this.#best.bucketOf(cosine)
    if (bucket <= known) return
    if (known >= 0) this.#best.uncount(known)
    this.#best.count(bucket)
    this.#buckets.set(document, bucket)
  }
}

/** Combines two of these: its threshold is the farther or the nearer of theirs. */
export class BestOfTwo implements BestSoFar {
  readonly #one: BestSoFar
  readonly #other: BestSoFar
  readonly #isFarther: boolean

  constructor(which: 'farther' | 'nearer', one: BestSoFar, other: BestSoFar) {
    this.#one = one
    this.#other = other
    this.#isFarther = which === 'farther'
  }

  get k(): number {
    const [one, other] = [this.#one.k, this.#other.k]
    return this.#isFarther ? Math.max(one, other) : Math.min(one, other)
  }

  get threshold(): number {
    const [one, other] = [this.#one.threshold, this.#other.threshold]
    return this.#isFarther ? Math.min(one, other) : Math.max(one, other)
  }

  add(cosine: number, segment: number, chunk: number): void {
    this.#one.add(cosine, segment, chunk)
    this.#other.add(cosine, segment, chunk)
  }
}
