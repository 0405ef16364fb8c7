import type { ChunkScore, DocumentHit } from '../../../search/search-index.ts'
import { compareDocumentIds, documentIdAt, segmentChunksMax } from '../format/segment-image.ts'
import { groupRows, packQuery } from '../format/vector-column.ts'
import type { OpenColumn, Place, SearchView, Segment } from '../memory/segment.ts'
import { bodyMask, type CompiledFilter } from './compile-filter.ts'
import { chunkScore } from './search-keyword.ts'
import type { VectorKernel } from './vector-kernel.ts'

/**
 * Cosine search in three steps: signs over everything visible, each weighed by the size of the query's component, then
 * bytes over the nearest, then floats over those that the bytes cannot tell from the best.
 *
 * Where much is visible, all distances are worked out first and only near rows are looked up in the filter; where little
 * is, the filter goes first and only visible rows are compared. Both keep the same chunks.
 *
 * How many the signs keep is chosen by what they lose. Of 17,934 real vectors of a small English model recall at 20 is
 * 1.000, at 200 .998. Directions that nothing is near to are the hardest, for all rows lie close together: .985 at 20 there,
 * where 2,000 rows instead of 3,500 had .954, and among 100,000 generated vectors .987 at 20, .985 at 100. Among more rows a
 * smaller share will do, about as the root of their number.
 */
const keptBySigns = (topK: number, among: number): number => 2000 + Math.round(2.5 * Math.sqrt(topK * among))
/**
 * A component that is rounded to a byte is off by up to half a step, evenly spread, and a cosine by the sum of 384 such
 * errors: nearly normal, its deviation the step by the root of 12. Of 162,948 cosines of real vectors the farthest was
 * 4.3 deviations off.
 */
const deviations = 5
/** Floats are read so many at once, with a look at the deadline in between. */
const floatsAtOnce = 256
/** Visible share, in sixteenths, from which on all distances are worked out first. */
const denseSixteenths = 2
/** One of so many chunks is looked at to guess the share, and one of so many groups to guess the limit. */
const sampleStep = 61
/** The limit is guessed so much too wide, because one that is too narrow costs a second scan. */
const guessedTimes = 1.5
const rowsAtOnce = 4096

export interface VectorSearch {
  readonly view: SearchView
  readonly filter: CompiledFilter
  readonly profile: number
  readonly vector: Float32Array
  readonly topK: number
  /** About how many chunks the caller may search: among more of them, more look nearer than they are. */
  readonly among: number
  readonly kernel: VectorKernel
  readonly readFloats: ReadFloats
  readonly deadline: number
}

/** One for each key: `null` when the file has none (the chunk is gone since) or a damaged one. */
export type ReadFloats = (profile: number, vectorKeys: readonly number[]) => readonly (Float32Array | null)[]

export interface Candidate {
  readonly segment: number
  readonly chunk: number
  readonly score: number
}

/** Chunks of one segment that may be among the nearest. */
interface Near {
  readonly segment: number
  readonly open: OpenColumn
  readonly chunks: Uint16Array
}

interface Found {
  readonly chunks: Uint16Array
  readonly distances: Uint16Array
}

/** Documents, and where they lie. */
export interface NearestDocuments {
  readonly hits: readonly DocumentHit[]
  readonly places: readonly Place[]
}

/** `null` when time ran out. */
export function searchVector(search: VectorSearch): NearestDocuments | null {
  const columns = search.view.segments.flatMap((segment, number) => {
    const open = segment.columns.get(search.profile)
    return open === undefined ? [] : [{ segment, number, open }]
  })
  if (columns.length === 0) return { hits: [], places: [] }
  const query = packQuery(search.vector)
  search.kernel.setQuery(query)

  const nearest = nearestBySigns(search, columns, query.farthest)
  const coarse = nearest && nearestByBytes(search, nearest, query.scale)
  const exact = coarse && exactCosines(search, coarse)
  if (exact === null) return null
  exact.sort((a, b) => b.score - a.score || compareChunks(search.view, a, b))
  return byDocument(search.view, exact.slice(0, search.topK))
}

interface OpenedColumn {
  readonly segment: Segment
  readonly number: number
  readonly open: OpenColumn
}

/** The visible rows that are nearest by their signs, and all that are as near as the last of them. */
function nearestBySigns(search: VectorSearch, columns: readonly OpenedColumn[], farthest: number): Near[] | null {
  const wanted = keptBySigns(search.topK, search.among)
  if (visibleSixteenths(search, columns) < denseSixteenths) {
    return scan(search, columns, new Nearest(farthest, wanted), visibleRows)
  }
  const sampled = new Nearest(farthest, Math.ceil((wanted / sampleStep) * guessedTimes))
  for (const { segment, open } of columns) sampleRows(search, segment, open, sampled)
  const guessed = new Nearest(sampled.limit, wanted)
  const near = scan(search, columns, guessed, nearRows)
  if (near === null || guessed.isFull || sampled.limit === farthest) return near
  return scan(search, columns, new Nearest(farthest, wanted), nearRows)
}

type FindRows = (search: VectorSearch, segment: Segment, open: OpenColumn, nearest: Nearest) => Found

/** `null` when time ran out. */
function scan(
  search: VectorSearch,
  columns: readonly OpenedColumn[],
  nearest: Nearest,
  findRows: FindRows,
): Near[] | null {
  const found: (Found & { readonly segment: number; readonly open: OpenColumn })[] = []
  for (const { segment, number, open } of columns) {
    if (performance.now() > search.deadline) return null
    found.push({ segment: number, open, ...findRows(search, segment, open, nearest) })
  }
  return found.map((one) => ({ segment: one.segment, open: one.open, chunks: chunksWithin(one, nearest.limit) }))
}

function visibleSixteenths({ filter }: VectorSearch, columns: readonly OpenedColumn[]): number {
  let looked = 0
  let visible = 0
  for (const { segment, open } of columns) {
    for (let chunk = 0; chunk < segment.image.chunks; chunk += sampleStep, looked++) {
      if (open.column.present[chunk] === 1 && (filter.maskOf(segment.image, chunk) & bodyMask) !== 0) visible++
    }
  }
  return (visible * 16) / Math.max(1, looked)
}

/** Counts rows by distance and knows within which distance the wanted number lies; all at that distance stay in. */
class Nearest {
  limit: number
  readonly #histogram: Uint32Array
  readonly #wanted: number
  #within = 0

  constructor(limit: number, wanted: number) {
    this.limit = limit
    this.#histogram = new Uint32Array(limit + 1)
    this.#wanted = wanted
  }

  get isFull(): boolean {
    return this.#within >= this.#wanted
  }

  add(distance: number): void {
    if (distance > this.limit) return
    this.#histogram[distance]!++
    this.#within++
    while (this.#within - this.#histogram[this.limit]! >= this.#wanted) {
      this.#within -= this.#histogram[this.limit]!
      this.limit--
    }
  }
}

const keptChunks = new Uint16Array(segmentChunksMax)
const keptDistances = new Uint16Array(segmentChunksMax)

/** Works out all distances and looks at the rows that are near, block by block, because the limit falls. */
function nearRows(search: VectorSearch, segment: Segment, open: OpenColumn, nearest: Nearest): Found {
  let count = 0
  for (let first = 0; first < segment.image.chunks; first += rowsAtOnce) {
    count = takeNear(search, segment, open, nearest, first, rowsAtOnce, count)
  }
  return { chunks: keptChunks.slice(0, count), distances: keptDistances.slice(0, count) }
}

function sampleRows(search: VectorSearch, segment: Segment, open: OpenColumn, sampled: Nearest): void {
  for (let first = 0; first < segment.image.chunks; first += groupRows * sampleStep) {
    takeNear(search, segment, open, sampled, first, groupRows, 0)
  }
}

/** Counts the near ones of some rows and adds them to those that are kept. Returns how many are kept then. */
function takeNear(
  { view, filter, kernel }: VectorSearch,
  { image, died }: Segment,
  open: OpenColumn,
  nearest: Nearest,
  first: number,
  rowsMax: number,
  kept: number,
): number {
  const { present } = open.column
  const within = kernel.near(open, first, Math.min(rowsMax, image.chunks - first), nearest.limit)
  let count = kept
  for (let i = 0; i < within; i++) {
    const chunk = kernel.nearRows[i]!
    if (present[chunk] !== 1 || died[chunk]! <= view.generation) continue
    if ((filter.maskOf(image, chunk) & bodyMask) === 0) continue
    const distance = kernel.nearDistances[i]!
    nearest.add(distance)
    keptChunks[count] = chunk
    keptDistances[count++] = distance
  }
  return count
}

/** Looks at the filter, then works out the distances of the visible rows. */
function visibleRows(
  { view, filter, kernel }: VectorSearch,
  segment: Segment,
  open: OpenColumn,
  nearest: Nearest,
): Found {
  const { image, died } = segment
  const { present } = open.column
  const { chunkClass } = image
  let count = 0
  for (let chunk = 0; chunk < image.chunks; chunk++) {
    let mask = filter.table[chunkClass[chunk]!]!
    if (mask > 3) mask = filter.resolve(image, chunk)
    if ((mask & bodyMask) === 0 || present[chunk] !== 1 || died[chunk]! <= view.generation) continue
    keptChunks[count++] = chunk
  }
  const chunks = keptChunks.slice(0, count)
  const distances = kernel.distancesOf(open, chunks).slice(0, count)
  for (let i = 0; i < count; i++) nearest.add(distances[i]!)
  return { chunks, distances }
}

function chunksWithin({ chunks, distances }: Found, limit: number): Uint16Array {
  let count = 0
  for (let i = 0; i < chunks.length; i++) if (distances[i]! <= limit) keptChunks[count++] = chunks[i]!
  return keptChunks.slice(0, count)
}

/** What the bytes say of the cosines of some rows, and how far off each may be. */
export function coarseCosines(
  kernel: VectorKernel,
  open: OpenColumn,
  chunks: Uint16Array,
  queryScale: number,
): { readonly cosines: Float64Array; readonly errors: Float64Array } {
  const products = kernel.productsOf(open, chunks)
  const { scale } = open.column
  const cosines = new Float64Array(chunks.length)
  const errors = new Float64Array(chunks.length)
  for (let i = 0; i < chunks.length; i++) {
    const step = scale[chunks[i]!]!
    cosines[i] = products[i]! * step * queryScale
    errors[i] = ((step + queryScale) * deviations) / Math.sqrt(12)
  }
  return { cosines, errors }
}

/** Those that may be among the nearest by what the bytes say. */
function nearestByBytes(
  { kernel, topK, deadline }: VectorSearch,
  near: readonly Near[],
  queryScale: number,
): Candidate[] | null {
  const surely = new BestSoFar(topK)
  const kept: { segment: number; chunks: Uint16Array; cosines: Float64Array; errors: Float64Array }[] = []
  for (const { segment, open, chunks } of near) {
    if (performance.now() > deadline) return null
    const { cosines, errors } = coarseCosines(kernel, open, chunks, queryScale)
    for (let i = 0; i < chunks.length; i++) surely.add(cosines[i]! - errors[i]!)
    kept.push({ segment, chunks, cosines, errors })
  }
  const candidates: Candidate[] = []
  const least = surely.least
  for (const { segment, chunks, cosines, errors } of kept) {
    for (let i = 0; i < chunks.length; i++) {
      if (cosines[i]! + errors[i]! >= least) candidates.push({ segment, chunk: chunks[i]!, score: cosines[i]! })
    }
  }
  return candidates
}

/** Knows the last of the best so many cosines, or a little less than it: they are counted in narrow classes. */
class BestSoFar {
  static readonly #classesOfOne = 16_384
  readonly #counts = new Uint32Array(2 * BestSoFar.#classesOfOne + 1)
  readonly #wanted: number

  constructor(wanted: number) {
    this.#wanted = wanted
  }

  add(cosine: number): void {
    const place = Math.floor((cosine + 1) * BestSoFar.#classesOfOne)
    this.#counts[Math.min(Math.max(0, place), this.#counts.length - 1)]!++
  }

  get least(): number {
    let place = this.#counts.length - 1
    for (let left = this.#wanted - this.#counts[place]!; left > 0 && place > 0; left -= this.#counts[place]!) place--
    return place === 0 ? -Infinity : place / BestSoFar.#classesOfOne - 1
  }
}

/** The candidates with their exact cosines, as far as their floats can be read; `null` when time ran out. */
export function exactCosines(
  {
    view,
    profile,
    vector,
    readFloats,
    deadline,
  }: Pick<VectorSearch, 'view' | 'profile' | 'vector' | 'readFloats' | 'deadline'>,
  candidates: readonly Candidate[],
): Candidate[] | null {
  const scored: Candidate[] = []
  for (let from = 0; from < candidates.length; from += floatsAtOnce) {
    if (performance.now() > deadline) return null
    const some = candidates.slice(from, from + floatsAtOnce)
    const keys = some.map(({ segment, chunk }) => view.segments[segment]!.image.vectorKey[chunk]!)
    const floats = readFloats(profile, keys)
    for (const [i, candidate] of some.entries()) {
      const read = floats[i]
      scored.push(read?.length === vector.length ? { ...candidate, score: cosine(vector, read) } : candidate)
    }
  }
  return scored
}

function cosine(a: Float32Array, b: Float32Array): number {
  let product = 0
  let squaresA = 0
  let squaresB = 0
  for (let i = 0; i < a.length; i++) {
    product += a[i]! * b[i]!
    squaresA += a[i]! * a[i]!
    squaresB += b[i]! * b[i]!
  }
  return product / Math.sqrt(squaresA * squaresB)
}

function compareChunks({ segments }: SearchView, a: Candidate, b: Candidate): number {
  if (a.segment === b.segment) return a.chunk - b.chunk
  const imageA = segments[a.segment]!.image
  const imageB = segments[b.segment]!.image
  return compareDocumentIds(imageA, imageA.chunkDocument[a.chunk]!, imageB, imageB.chunkDocument[b.chunk]!)
}

function byDocument({ segments }: SearchView, ranked: readonly Candidate[]): NearestDocuments {
  const hits = new Map<string, DocumentHit & { otherChunks: ChunkScore[] }>()
  const places: Place[] = []
  for (const { segment, chunk, score } of ranked) {
    const { image } = segments[segment]!
    const document = image.chunkDocument[chunk]!
    const documentId = documentIdAt(image, document)
    const scored = chunkScore(image, chunk, score)
    const hit = hits.get(documentId)
    if (hit !== undefined) {
      hit.otherChunks.push(scored)
      continue
    }
    hits.set(documentId, { documentId, ...scored, otherChunks: [] })
    places.push({ segment, document })
  }
  return { hits: [...hits.values()], places }
}
