import type { ChunkScore, DocumentHit, VectorOutcome } from '../../search/search-index.ts'
import { bodyMask, type CompiledFilter } from './compile-filter.ts'
import { chunkScore } from './search-keyword.ts'
import type { OpenColumn, SearchView, Segment } from './segment.ts'
import { compareDocumentIds, documentIdAt, segmentChunksMax } from './segment-image.ts'
import { packBytes, packSigns } from './vector-column.ts'
import type { VectorKernel } from './vector-kernel.ts'

/**
 * Cosine search in three steps: bits over everything visible, bytes over what is left, floats over the last few. With
 * few visible chunks the floats of all of them are compared.
 *
 * Where much is visible, all distances are counted first and only near rows are looked up in the filter; where little
 * is, the filter goes first and only visible rows are counted. Both keep the same chunks.
 *
 * Measured on real vectors of a small English model, recall at 20 by how many times 20 are kept. 20,461 of them: bits 50
 * times .993, bytes 3 times .995. 11,748 of them, both steps: 100 and 5 times .998, 200 and 5 times .999, which is what is
 * kept here.
 */
const afterBits = 200
const afterBitsLeast = 2000
const afterBytes = 5
const afterBytesLeast = 50
/** Visible chunks up to which floats are compared straight away: one read from the file takes about 10 microseconds. */
const exactMax = 400
/** Visible share, in sixteenths, from which on all distances are counted first. */
const denseSixteenths = 2
/** One of so many chunks is looked at to guess the share. */
const sampleStep = 61
const rowsAtOnce = 4096

export interface VectorSearch {
  readonly view: SearchView
  readonly filter: CompiledFilter
  readonly profile: number
  readonly vector: Float32Array
  readonly topK: number
  readonly kernel: VectorKernel
  /** `null` when the file has none (the chunk is gone since) or a damaged one. */
  readonly readFloats: (profile: number, vectorKey: number) => Float32Array | null
  readonly deadline: number
}

interface Candidate {
  readonly segment: number
  readonly chunk: number
  readonly score: number
}

/** Chunks of one segment that may be among the nearest, and their distances in bits. */
interface Near {
  readonly segment: number
  readonly open: OpenColumn
  readonly chunks: Uint16Array
  readonly distances: Uint16Array
}

const timedOut = { outcome: 'timed_out' } as const

export function searchVector(search: VectorSearch): VectorOutcome {
  const columns = search.view.segments.flatMap((segment, number) => {
    const open = segment.columns.get(search.profile)
    return open === undefined ? [] : [{ segment, number, open }]
  })
  if (columns.length === 0) return { outcome: 'found', hits: [] }
  const { layout } = columns[0]!.open.column
  const bits = new Uint8Array(layout.bitsStride)
  const bytes = new Int8Array(layout.bytesStride)
  packSigns(search.vector, bits)
  const queryScale = packBytes(search.vector, bytes)
  search.kernel.setQuery(bits, bytes)

  const nearest = new NearestByBits(layout.bitsStride * 8, Math.max(afterBitsLeast, search.topK * afterBits))
  const dense = visibleSixteenths(search, columns) >= denseSixteenths
  const near: Near[] = []
  for (const { segment, number, open } of columns) {
    if (performance.now() > search.deadline) return timedOut
    near.push({ segment: number, open, ...(dense ? nearRows : visibleRows)(search, segment, open, nearest) })
  }
  const coarse =
    nearest.seen <= exactMax ? near.flatMap(asCandidates) : nearestByBytes(search, near, nearest.limit, queryScale)
  const exact = coarse && rescore(search, coarse)
  if (exact === null) return timedOut
  return { outcome: 'found', hits: byDocument(search.view, exact.slice(0, search.topK)) }
}

interface OpenedColumn {
  readonly segment: Segment
  readonly open: OpenColumn
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
class NearestByBits {
  limit: number
  seen = 0
  readonly #histogram: Uint32Array
  readonly #wanted: number
  #within = 0

  constructor(bits: number, wanted: number) {
    this.limit = bits
    this.#histogram = new Uint32Array(bits + 1)
    this.#wanted = wanted
  }

  add(distance: number): void {
    this.seen++
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

/** Counts all distances and looks at the rows that are near, block by block, because the limit falls fast at first. */
function nearRows({ view, filter, kernel }: VectorSearch, segment: Segment, open: OpenColumn, nearest: NearestByBits) {
  const { image, died } = segment
  const { present } = open.column
  let count = 0
  for (let first = 0; first < image.chunks; first += rowsAtOnce) {
    const rows = Math.min(rowsAtOnce, image.chunks - first)
    const within = kernel.near(open, first, rows, nearest.limit)
    for (let i = 0; i < within; i++) {
      const chunk = kernel.nearRows[i]!
      if (present[chunk] !== 1 || died[chunk]! <= view.generation) continue
      if ((filter.maskOf(image, chunk) & bodyMask) === 0) continue
      const distance = kernel.nearDistances[i]!
      nearest.add(distance)
      keptChunks[count] = chunk
      keptDistances[count++] = distance
    }
  }
  return { chunks: keptChunks.slice(0, count), distances: keptDistances.slice(0, count) }
}

/** Looks at the filter, then counts the distances of the visible rows. */
function visibleRows(
  { view, filter, kernel }: VectorSearch,
  segment: Segment,
  open: OpenColumn,
  nearest: NearestByBits,
) {
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

function asCandidates({ segment, chunks }: Near): Candidate[] {
  return Array.from(chunks, (chunk) => ({ segment, chunk, score: 0 }))
}

/** Of what the bits left, the nearest by signed bytes. */
function nearestByBytes(
  { kernel, topK, deadline }: VectorSearch,
  near: readonly Near[],
  limit: number,
  queryScale: number,
): Candidate[] | null {
  const kept: { segment: number; chunks: Uint16Array; scores: Float64Array }[] = []
  for (const { segment, open, chunks, distances } of near) {
    if (performance.now() > deadline) return null
    const within = chunks.filter((_, i) => distances[i]! <= limit)
    const products = kernel.productsOf(open, within)
    const scores = new Float64Array(within.length)
    for (let i = 0; i < within.length; i++) scores[i] = products[i]! * open.column.scale[within[i]!]! * queryScale
    kept.push({ segment, chunks: within, scores })
  }
  const least = leastOfBest(kept, Math.max(afterBytesLeast, topK * afterBytes))
  const best: Candidate[] = []
  for (const { segment, chunks, scores } of kept) {
    for (let i = 0; i < chunks.length; i++) {
      if (scores[i]! >= least) best.push({ segment, chunk: chunks[i]!, score: scores[i]! })
    }
  }
  return best
}

/** The score of the last of the best so many. */
function leastOfBest(kept: readonly { scores: Float64Array }[], wanted: number): number {
  const all = new Float64Array(kept.reduce((sum, { scores }) => sum + scores.length, 0))
  let at = 0
  for (const { scores } of kept) {
    all.set(scores, at)
    at += scores.length
  }
  return all.sort()[Math.max(0, all.length - wanted)] ?? 0
}

/** Exact cosines, best first. */
function rescore(search: VectorSearch, candidates: readonly Candidate[]): Candidate[] | null {
  const { view, profile, vector, deadline } = search
  const scored: Candidate[] = []
  for (const [i, { segment, chunk, score }] of candidates.entries()) {
    if (i % 64 === 0 && performance.now() > deadline) return null
    const floats = search.readFloats(profile, view.segments[segment]!.image.vectorKey[chunk]!)
    scored.push({ segment, chunk, score: floats?.length === vector.length ? cosine(vector, floats) : score })
  }
  return scored.sort((a, b) => b.score - a.score || compareChunks(view, a, b))
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

function byDocument({ segments }: SearchView, ranked: readonly Candidate[]): DocumentHit[] {
  const hits = new Map<string, DocumentHit & { otherChunks: ChunkScore[] }>()
  for (const { segment, chunk, score } of ranked) {
    const { image } = segments[segment]!
    const documentId = documentIdAt(image, image.chunkDocument[chunk]!)
    const scored = chunkScore(image, chunk, score)
    const hit = hits.get(documentId)
    if (hit === undefined) hits.set(documentId, { documentId, ...scored, otherChunks: [] })
    else hit.otherChunks.push(scored)
  }
  return [...hits.values()]
}

/** The chunk of one document that is nearest, `null` when none may be compared. */
export function nearestChunk(
  search: Pick<VectorSearch, 'filter' | 'profile' | 'vector' | 'readFloats'>,
  segment: Segment,
  document: number,
): ChunkScore | null {
  const { image } = segment
  const column = segment.columns.get(search.profile)?.column
  if (column === undefined) return null
  let best: { chunk: number; score: number } | null = null
  for (let chunk = image.documentFirstChunk[document]!; chunk < image.documentFirstChunk[document + 1]!; chunk++) {
    if (column.present[chunk] !== 1 || (search.filter.maskOf(image, chunk) & bodyMask) === 0) continue
    const floats = search.readFloats(search.profile, image.vectorKey[chunk]!)
    if (floats?.length !== search.vector.length) continue
    const score = cosine(search.vector, floats)
    if (best === null || score > best.score) best = { chunk, score }
  }
  return best && chunkScore(image, best.chunk, best.score)
}
