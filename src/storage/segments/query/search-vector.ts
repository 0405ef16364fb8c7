import type { ChunkScore, DocumentHit, EnoughNear } from '../../../search/search-index.ts'
import { compareDocumentIds, documentIdAt } from '../format/segment-image.ts'
import { groupRows, packQuery, type VectorColumn } from '../format/vector-column.ts'
import type { OpenColumn, Place, SearchView, Segment } from '../memory/segment.ts'
import {
  BestChunks,
  BestDocuments,
  BestOfTwo,
  type BestSoFar,
  type Candidate,
  type KeptBySigns,
  type NearColumn,
  nearestByBytes,
} from './compare-bytes.ts'
import { bodyMask, type CompiledFilter } from './compile-filter.ts'
import { chunkScore } from './search-keyword.ts'
import type { VectorKernel } from './vector-kernel.ts'

/**
 * Cosine search in three steps: signs over everything visible, each weighed by the size of the query's component, then
 * bytes over the nearest, but not over so many where some are much nearer than the rest (`compare-bytes.ts`), then floats
 * over those that the bytes cannot tell from the best.
 *
 * What a scope lets see is known before, as a bit a chunk; where nothing of 16 rows is visible, they are passed over. What a
 * filter of the request's own hides is worked out for all rows before where it hides much, and else for near rows alone.
 * Either way the same chunks are kept.
 *
 * How many the signs keep at most is chosen by what they lose. Of 17,934 real vectors of a small English model recall at 20 is
 * 1.000, at 200 .998. Directions that nothing is near to are the hardest, for all rows lie close together: .985 at 20 there,
 * where 2,000 rows instead of 3,500 had .954, and among 100,000 generated vectors .987 at 20, .985 at 100. Among more rows a
 * smaller share will do, about as the root of their number.
 */
const keptBySigns = (topK: number, among: number): number => 2000 + Math.round(2.5 * Math.sqrt(topK * among))
/** Floats are read so many at once, with a look at the deadline in between. */
const floatsAtOnce = 256
/** Visible share, in sixteenths, from which on a filter of the request's own is asked of near rows alone. */
const denseSixteenths = 2
/** One of so many chunks is looked at to guess the share, and one of so many groups to guess the limit. */
const sampleStep = 61
/** The limit is guessed so much too wide, because one that is too narrow costs a second scan. */
const guessedTimes = 1.5
const rowsAtOnce = 4096
/** Where documents alone are wanted half as many again are told from the others, and so many however few are wanted. */
const documentsMin = 30
const documentsShare = 1.5

export interface VectorSearch {
  readonly view: SearchView
  readonly filter: CompiledFilter
  /** Chunks of a segment that live and whose bodies the filter lets see, a bit each; `null` where they are not known. */
  readonly visible: (segment: Segment) => Uint32Array | null
  readonly profile: number
  readonly vector: Float32Array
  readonly topK: number
  readonly enough: EnoughNear
  /** About how many chunks the caller may search: among more of them, more look nearer than they are. */
  readonly among: number
  readonly kernel: VectorKernel
  readonly readFloats: ReadFloats
  readonly deadline: number
}

/** One for each key: `null` when the file has none (the chunk is gone since) or a damaged one. */
export type ReadFloats = (profile: number, vectorKeys: readonly number[]) => readonly (Float32Array | null)[]

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

  const nearest = nearestBySigns(search, withVisible(search, columns), query.farthest)
  const coarse = nearest && nearestByBytes({ ...search, best: bestOf(search) }, nearest, query.scale)
  const cosines = coarse && exactCosines(search, coarse)
  if (coarse === null || cosines === null) return null
  const exact = coarse.map(({ segment, chunk }, i): Candidate => ({ segment, chunk, score: cosines[i]! }))
  exact.sort((a, b) => b.score - a.score || compareChunks(search.view, a, b))
  return byDocument(search.view, exact.slice(0, search.topK), search.enough)
}

/**
 * Of documents more than are wanted, unless chunks are too: the first ones say little of how far away rows can be left out, if
 * vectors have a few large components and cosines are far from normal. Never more than the chunks that are wanted at most: where
 * there are few documents, or long ones, all that is near would be compared to find one more.
 */
function bestOf({ topK, enough, view }: VectorSearch): BestSoFar {
  const most = new BestChunks(topK)
  if (enough.documents === 0) return enough.chunks === 0 ? most : new BestChunks(Math.min(topK, enough.chunks))
  const bestDocuments = (count: number) => new BestDocuments(count, view.segments)
  const wanted =
    enough.chunks === 0
      ? bestDocuments(Math.max(documentsMin, Math.ceil(documentsShare * enough.documents)))
      : new BestOfTwo('farther', new BestChunks(enough.chunks), bestDocuments(enough.documents))
  return new BestOfTwo('nearer', most, wanted)
}

interface OpenedColumn {
  readonly segment: Segment
  readonly number: number
  readonly open: OpenColumn
}

interface ScannedColumn extends OpenedColumn {
  /** A bit a row. */
  readonly visible: Uint32Array
  /** All rows are in `visible`, also those that died or that the filter hides. */
  readonly hasHidden: boolean
}

function withVisible(search: VectorSearch, columns: readonly OpenedColumn[]): ScannedColumn[] {
  const known = columns.map(({ segment }) => search.visible(segment))
  const hasHidden = known.includes(null) && visibleSixteenths(search, columns) >= denseSixteenths
  return columns.map((column, i) => {
    const { segment, open } = column
    const bits = known[i] ?? (hasHidden ? everyChunk(segment) : visibleChunks(search, segment))
    return { ...column, visible: bitsOfRows(open.column, bits), hasHidden: known[i] === null && hasHidden }
  })
}

function visibleSixteenths(search: VectorSearch, columns: readonly OpenedColumn[]): number {
  let looked = 0
  let visible = 0
  for (const { segment } of columns) {
    for (let chunk = 0; chunk < segment.image.chunks; chunk += sampleStep, looked++) {
      if (isVisible(search, segment, chunk)) visible++
    }
  }
  return (visible * 16) / Math.max(1, looked)
}

const isVisible = ({ view, filter }: VectorSearch, { image, died }: Segment, chunk: number): boolean =>
  died[chunk]! > view.generation && (filter.maskOf(image, chunk) & bodyMask) !== 0

const wordsOf = (chunks: number): number => (chunks + 31) >>> 5

function everyChunk({ image: { chunks } }: Segment): Uint32Array {
  const bits = new Uint32Array(wordsOf(chunks)).fill(2 ** 32 - 1)
  if (chunks % 32 > 0) bits[bits.length - 1] = 2 ** (chunks % 32) - 1
  return bits
}

function visibleChunks(search: VectorSearch, segment: Segment): Uint32Array {
  const { chunks } = segment.image
  const bits = new Uint32Array(wordsOf(chunks))
  for (let chunk = 0; chunk < chunks; chunk++) {
    if (isVisible(search, segment, chunk)) bits[chunk >>> 5]! |= 1 << chunk
  }
  return bits
}

function bitsOfRows({ chunks }: VectorColumn, bitsOfChunks: Uint32Array): Uint32Array {
  if (chunks === null) return bitsOfChunks
  const bits = new Uint32Array(wordsOf(chunks.length))
  for (let row = 0; row < chunks.length; row++) {
    const chunk = chunks[row]!
    bits[row >>> 5]! |= ((bitsOfChunks[chunk >>> 5]! >>> chunk) & 1) << row
  }
  return bits
}

/** The visible rows that are nearest by their signs, and all that are as near as the last of them. */
function nearestBySigns(search: VectorSearch, columns: readonly ScannedColumn[], farthest: number): KeptBySigns | null {
  const { kernel } = search
  const rows = columns.reduce((sum, { open }) => sum + open.column.layout.rows, 0)
  const wanted = keptBySigns(search.topK, Math.min(search.among, rows))
  const sampled = new Nearest(kernel, farthest, Math.ceil((wanted / sampleStep) * guessedTimes))
  for (const column of columns) sampleRows(search, column, sampled)
  const guessed = new Nearest(kernel, sampled.limit, wanted)
  const near = scan(search, columns, guessed)
  if (near === null || guessed.isFull || sampled.limit === farthest) return near
  return scan(search, columns, new Nearest(kernel, farthest, wanted))
}

/** `null` when time ran out. */
function scan(search: VectorSearch, columns: readonly ScannedColumn[], nearest: Nearest): KeptBySigns | null {
  const near: NearColumn[] = []
  for (const column of columns) {
    if (performance.now() > search.deadline) return null
    near.push(nearRows(search, column, nearest))
  }
  return { columns: near, limit: nearest.limit }
}

/** Knows within which distance the wanted number of rows lies, of those that the kernel counts; all at that distance stay in. */
class Nearest {
  limit: number
  readonly #counts: Uint32Array
  readonly #wanted: number
  #within = 0

  constructor({ counts }: VectorKernel, limit: number, wanted: number) {
    this.limit = limit
    this.#counts = counts.fill(0, 0, limit + 1)
    this.#wanted = wanted
  }

  get isFull(): boolean {
    return this.#within >= this.#wanted
  }

  /** So many rows more were counted. */
  narrow(more: number): void {
    this.#within += more
    while (this.#within - this.#counts[this.limit]! >= this.#wanted) {
      this.#within -= this.#counts[this.limit]!
      this.limit--
    }
  }
}

/** Block by block, because the limit falls. */
function nearRows(search: VectorSearch, column: ScannedColumn, nearest: Nearest): NearColumn {
  const { kernel } = search
  const { number: segment, open } = column
  kernel.setVisible(column.visible)
  let kept = 0
  for (let first = 0; first < open.column.layout.rows; first += rowsAtOnce) {
    kept += takeNear(search, column, nearest, first, rowsAtOnce, kept)
  }
  return { segment, open, rows: kernel.nearRows.slice(0, kept), distances: kernel.nearDistances.slice(0, kept) }
}

function sampleRows(search: VectorSearch, column: ScannedColumn, sampled: Nearest): void {
  search.kernel.setVisible(column.visible)
  for (let first = 0; first < column.open.column.layout.rows; first += groupRows * sampleStep) {
    takeNear(search, column, sampled, first, groupRows, 0)
  }
}

/** Puts the near ones of some rows behind the first `kept` that the kernel found. Returns how many there are. */
function takeNear(
  search: VectorSearch,
  column: ScannedColumn,
  nearest: Nearest,
  first: number,
  rowsMax: number,
  kept: number,
): number {
  const rows = Math.min(rowsMax, column.open.column.layout.rows - first)
  const found = search.kernel.near(column.open, first, rows, nearest.limit, kept)
  const visible = column.hasHidden ? dropHidden(search, column, kept, found) : found
  nearest.narrow(visible)
  return visible
}

/** Of the `found` rows behind the first `kept`, those that may be seen. */
function dropHidden(search: VectorSearch, { segment, open }: ScannedColumn, kept: number, found: number): number {
  const { nearRows: rows, nearDistances: distances, counts } = search.kernel
  let visible = 0
  for (let i = kept; i < kept + found; i++) {
    const [row, distance] = [rows[i]!, distances[i]!]
    if (!isVisible(search, segment, open.column.chunkOf(row))) {
      counts[distance]!--
      continue
    }
    rows[kept + visible] = row
    distances[kept + visible++] = distance
  }
  return visible
}

/** The cosine of each candidate: exact, or what is known of it where its floats cannot be read; `null` when time ran out. */
export function exactCosines(
  {
    view,
    profile,
    vector,
    kernel,
    readFloats,
    deadline,
  }: Pick<VectorSearch, 'view' | 'profile' | 'vector' | 'kernel' | 'readFloats' | 'deadline'>,
  candidates: readonly Candidate[],
): Float64Array | null {
  const scores = Float64Array.from(candidates, ({ score }) => score)
  for (let from = 0; from < candidates.length; from += floatsAtOnce) {
    if (performance.now() > deadline) return null
    const some = candidates.slice(from, from + floatsAtOnce)
    const keys = some.map(({ segment, chunk }) => view.segments[segment]!.image.vectorKey[chunk]!)
    const floats: Float32Array[] = []
    const places: number[] = []
    for (const [i, read] of readFloats(profile, keys).entries()) {
      if (read?.length !== vector.length) continue
      floats.push(read)
      places.push(from + i)
    }
    const cosines = kernel.cosinesOf(vector, floats)
    for (const [i, place] of places.entries()) scores[place] = cosines[i]!
  }
  return scores
}

function compareChunks({ segments }: SearchView, a: Candidate, b: Candidate): number {
  if (a.segment === b.segment) return a.chunk - b.chunk
  const imageA = segments[a.segment]!.image
  const imageB = segments[b.segment]!.image
  return compareDocumentIds(imageA, imageA.chunkDocument[a.chunk]!, imageB, imageB.chunkDocument[b.chunk]!)
}

/** Up to where there is enough: whether all that is farther was looked at is not known. */
function byDocument({ segments }: SearchView, ranked: readonly Candidate[], enough: EnoughNear): NearestDocuments {
  const hits = new Map<string, DocumentHit & { otherChunks: ChunkScore[] }>()
  const places: Place[] = []
  for (const [i, { segment, chunk, score }] of ranked.entries()) {
    if (i >= enough.chunks && hits.size >= enough.documents) break
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
