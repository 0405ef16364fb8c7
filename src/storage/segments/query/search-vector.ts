import type { ChunkScore, DocumentHit, EnoughNear } from '../../../search/search-index.ts'
import { compareDocumentIds, documentIdAt } from '../format/segment-data.ts'
import { groupRows, packQuery, type VectorColumn } from '../format/vector-column.ts'
import type { OpenColumn, SearchView, Segment } from '../memory/segment.ts'
import {
  BestChunks,
  BestDocuments,
  BestOfTwo,
  type BestSoFar,
  type Candidate,
  type NearColumn,
  type NearestRows,
  nearestByInt8,
} from './compare-int8.ts'
import { bodyMask, type CompiledFilter } from './compile-filter.ts'
import { chunkScore } from './search-keyword.ts'
import type { VectorKernel } from './vector-kernel.ts'

/**
 * Cosine search in three steps (1-bit quantisation with rescoring). The first step compares the binary codes of all
 * visible rows, with each bit weighted by the size of the query's component. The second step compares the int8 codes of
 * the nearest rows, or fewer if some are much nearer than the rest (`nearestByInt8`). The third step reads the floats
 * of those that the int8 codes cannot separate from the best.
 *
 * The chunks that a scope shows are known in advance, as a bit for each chunk, and groups of 16 rows without a visible
 * one are skipped. A filter of the request is applied to all rows first if it hides many, otherwise only to near rows.
 * Either way the same chunks are kept.
 *
 * The number of rows that the binary codes keep decides the recall. Isotropic vectors without near neighbours are the
 * hardest case, because all rows are about equally far away. The number grows with the square root of the number of
 * rows. `vector-recall-long.test.ts` tests the recall.
 */
const rescoredRows = (topK: number, rows: number): number => 2000 + Math.round(2.5 * Math.sqrt(topK * rows))
/** The number of floats that are read at once, between two checks of the deadline. */
const floatsAtOnce = 256
/** If at least this share of the chunks is visible, in sixteenths, a filter is applied only to near rows. */
const denseSixteenths = 2
/** One chunk in this many is sampled to estimate the share, and one group in this many to estimate the limit. */
const sampleStep = 61
/** The limit is estimated for this many times the wanted rows, because a limit that is too low costs a second scan. */
const estimateFactor = 1.5
const rowsAtOnce = 4096
/** If only documents are requested, half as many again are separated from the others, and at least `documentsMin`. */
const documentsMin = 30
const documentsShare = 1.5

export interface VectorSearch {
  readonly view: SearchView
  readonly filter: CompiledFilter
  /**
   * Chunks of a segment that are not deleted and whose bodies the filter shows, a bit each; `null` if they are not
   * known.
   */
  readonly visible: (segment: Segment) => Uint32Array | null
  readonly profile: number
  readonly vector: Float32Array
  readonly topK: number
  readonly enough: EnoughNear
  /** Roughly the number of chunks that the caller may search. With more chunks, more of them must be rescored. */
  readonly searchableChunks: number
  readonly kernel: VectorKernel
  readonly readFloats: ReadFloats
  readonly deadline: number
}

/** One result for each key: `null` if the file has no vector (the chunk was deleted since) or a damaged one. */
export type ReadFloats = (profile: number, vectorKeys: readonly number[]) => readonly (Float32Array | null)[]

/** Returns `null` if the time ran out. */
export function searchVector(search: VectorSearch): readonly DocumentHit[] | null {
  const columns = search.view.segments.flatMap((segment, number) => {
    const open = segment.columns.get(search.profile)
    return open === undefined ? [] : [{ segment, number, open }]
  })
  if (columns.length === 0) return []
  const query = packQuery(search.vector)
  search.kernel.setQuery(query)

  const nearest = nearestByCodes(search, withVisible(search, columns), query.farthest)
  const coarse = nearest && nearestByInt8({ ...search, best: bestOf(search) }, nearest, query.scale)
  const cosines = coarse && exactCosines(search, coarse)
  if (coarse === null || cosines === null) return null
  const exact = coarse.map(({ segment, chunk }, i): Candidate => ({ segment, chunk, score: cosines[i]! }))
  exact.sort((a, b) => b.score - a.score || compareChunks(search.view, a, b))
  return byDocument(search.view, exact.slice(0, search.topK), search.enough)
}

/**
 * The ranking that the int8 codes must get right. It has more documents than requested, unless chunks are requested
 * too: if vectors have a few large components, cosines are far from normal, and the first documents say little about
 * how far away rows can be skipped. It never has more than `topK` chunks, because with few or long documents all near
 * rows would be compared to find one more document.
 */
function bestOf({ topK, enough, view }: VectorSearch): BestSoFar {
  const most = new BestChunks(topK)
  if (enough.documents === 0) return enough.chunks === 0 ? most : new BestChunks(Math.min(topK, enough.chunks))
  const bestDocuments = (count: number) => new BestDocuments(count, view.segments)
  const requested =
    enough.chunks === 0
      ? bestDocuments(Math.max(documentsMin, Math.ceil(documentsShare * enough.documents)))
      : new BestOfTwo('farther', new BestChunks(enough.chunks), bestDocuments(enough.documents))
  return new BestOfTwo('nearer', most, requested)
}

interface OpenedColumn {
  readonly segment: Segment
  readonly number: number
  readonly open: OpenColumn
}

interface ScannedColumn extends OpenedColumn {
  /** A bit for each row. */
  readonly visible: Uint32Array
  /** `visible` has all rows, including deleted ones and those that the filter hides. */
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
  let sampled = 0
  let visible = 0
  for (const { segment } of columns) {
    for (let chunk = 0; chunk < segment.data.chunks; chunk += sampleStep, sampled++) {
      if (isVisible(search, segment, chunk)) visible++
    }
  }
  return (visible * 16) / Math.max(1, sampled)
}

const isVisible = ({ view, filter }: VectorSearch, { data, deletedAt }: Segment, chunk: number): boolean =>
  deletedAt[chunk]! > view.generation && (filter.maskOf(data, chunk) & bodyMask) !== 0

const wordsOf = (chunks: number): number => (chunks + 31) >>> 5

function everyChunk({ data: { chunks } }: Segment): Uint32Array {
  const bits = new Uint32Array(wordsOf(chunks)).fill(2 ** 32 - 1)
  if (chunks % 32 > 0) bits[bits.length - 1] = 2 ** (chunks % 32) - 1
  return bits
}

function visibleChunks(search: VectorSearch, segment: Segment): Uint32Array {
  const { chunks } = segment.data
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

/** Returns the visible rows that are nearest by their binary codes, with all ties of the last one. */
function nearestByCodes(search: VectorSearch, columns: readonly ScannedColumn[], farthest: number): NearestRows | null {
  const { kernel } = search
  const rows = columns.reduce((sum, { open }) => sum + open.column.layout.rows, 0)
  const target = rescoredRows(search.topK, Math.min(search.searchableChunks, rows))
  const sampled = new Nearest(kernel, farthest, Math.ceil((target / sampleStep) * estimateFactor))
  for (const column of columns) sampleRows(search, column, sampled)
  const estimated = new Nearest(kernel, sampled.limit, target)
  const near = scan(search, columns, estimated)
  if (near === null || estimated.isFull || sampled.limit === farthest) return near
  return scan(search, columns, new Nearest(kernel, farthest, target))
}

/** `null` if the time ran out. */
function scan(search: VectorSearch, columns: readonly ScannedColumn[], nearest: Nearest): NearestRows | null {
  const near: NearColumn[] = []
  for (const column of columns) {
    if (performance.now() > search.deadline) return null
    near.push(nearRows(search, column, nearest))
  }
  return { columns: near, limit: nearest.limit }
}

/**
 * Finds the distance within which the target number of rows lies, among the rows that the kernel has counted. All rows
 * at that distance are kept.
 */
class Nearest {
  limit: number
  readonly #counts: Uint32Array
  readonly #target: number
  #within = 0

  constructor({ counts }: VectorKernel, limit: number, target: number) {
    this.limit = limit
    this.#counts = counts.fill(0, 0, limit + 1)
    this.#target = target
  }

  get isFull(): boolean {
    return this.#within >= this.#target
  }

  /** Called when `more` rows were counted. */
  narrow(more: number): void {
    this.#within += more
    while (this.#within - this.#counts[this.limit]! >= this.#target) {
      this.#within -= this.#counts[this.limit]!
      this.limit--
    }
  }
}

/** Scans a column block by block, because the limit falls. */
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

/**
 * Finds the near rows of a block, and writes them after the first `kept` ones. Returns the number of new ones.
 */
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

/** Keeps those of the `found` rows after the first `kept` ones that are visible. */
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

/** The cosine of each candidate: exact, or the estimate if its floats cannot be read; `null` if the time ran out. */
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
    const keys = some.map(({ segment, chunk }) => view.segments[segment]!.data.vectorKey[chunk]!)
    const floats: Float32Array[] = []
    const indexes: number[] = []
    for (const [i, read] of readFloats(profile, keys).entries()) {
      if (read?.length !== vector.length) continue
      floats.push(read)
      indexes.push(from + i)
    }
    const cosines = kernel.cosinesOf(vector, floats)
    for (const [i, index] of indexes.entries()) scores[index] = cosines[i]!
  }
  return scores
}

function compareChunks({ segments }: SearchView, a: Candidate, b: Candidate): number {
  if (a.segment === b.segment) return a.chunk - b.chunk
  const dataA = segments[a.segment]!.data
  const dataB = segments[b.segment]!.data
  return compareDocumentIds(dataA, dataA.chunkDocument[a.chunk]!, dataB, dataB.chunkDocument[b.chunk]!)
}

/** Stops when there are enough documents, because not all rows that are farther were compared. */
function byDocument(
  { segments }: SearchView,
  ranked: readonly Candidate[],
  enough: EnoughNear,
): readonly DocumentHit[] {
  const hits = new Map<string, DocumentHit & { otherChunks: ChunkScore[] }>()
  for (const [i, { segment, chunk, score }] of ranked.entries()) {
    if (i >= enough.chunks && hits.size >= enough.documents) break
    const { data } = segments[segment]!
    const document = data.chunkDocument[chunk]!
    const documentId = documentIdAt(data, document)
    const scored = chunkScore(data, chunk, score)
    const hit = hits.get(documentId)
    if (hit === undefined) hits.set(documentId, { documentId, ...scored, otherChunks: [] })
    else hit.otherChunks.push(scored)
  }
  return [...hits.values()]
}
