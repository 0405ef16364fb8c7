import type { WithoutVectorPage } from '../../../indexing/fed-index.ts'
import { pendingOneIn } from '../../../search/search-index.ts'
import {
  chunkIdAt,
  compareDocumentIds,
  documentIdAt,
  lowerBound,
  lowerBoundDocument,
  type SegmentData,
} from '../format/segment-data.ts'
import { deletionsAt, type OpenColumn, type SearchView, type Segment, vectorsSet } from '../memory/segment.ts'
import { bodyMask, type CompiledFilter } from './compile-filter.ts'

const hasBody = ({ bodyStart }: SegmentData, chunk: number): boolean => bodyStart[chunk]! < bodyStart[chunk + 1]!

interface MissingInSegment {
  /** The number of vectors that were set, and the column, at the time of the lookup. */
  readonly set: number
  readonly column: OpenColumn | undefined
  /** Includes deleted chunks. */
  readonly chunks: Uint16Array
  /**
   * Those chunks with words in their body. A body of punctuation alone can have a vector too, but without words it
   * cannot be told from an empty body.
   */
  readonly withWords: Uint16Array
}

/** The counts of the chunks of one segment that a filter shows. */
interface Visible {
  readonly missing: MissingInSegment
  readonly deletions: number
  readonly without: number
  /** The number of chunks with a body, with or without a vector; `null` until it is needed. */
  chunks: number | null
}

/**
 * The chunks without a vector of one profile, usually those that only have a title. Lookups are cached by segment, and
 * counts by filter, until something changes.
 */
export class MissingVectors {
  readonly #profile: number | null
  readonly #known = new WeakMap<Segment, MissingInSegment>()
  readonly #visible = new WeakMap<CompiledFilter, WeakMap<Segment, Visible>>()

  /** `null` for a profile without any vector. */
  constructor(profile: number | null) {
    this.#profile = profile
  }

  in(segment: Segment): MissingInSegment {
    const set = vectorsSet(segment)
    const column = this.#profile === null ? undefined : segment.columns.get(this.#profile)
    const known = this.#known.get(segment)
    if (known?.set === set && known.column === column) return known
    const { data } = segment
    const found = new Uint16Array(data.chunks)
    let count = 0
    for (let chunk = 0; chunk < data.chunks; chunk++) {
      if (column?.column.has(chunk) !== true) found[count++] = chunk
    }
    const chunks = found.slice(0, count)
    const missing = { set, column, chunks, withWords: chunks.filter((chunk) => hasBody(data, chunk)) }
    this.#known.set(segment, missing)
    return missing
  }

  /**
   * Whether more than one in `pendingOneIn` of the visible chunks has no vector. The result is exact and does not
   * depend on hidden chunks. Nothing is counted if no vector is missing, counting stops early if many are, and a cached
   * filter counts only changed segments. With a million chunks the first count of a filter takes some milliseconds.
   */
  areMany(view: SearchView, filter: CompiledFilter): boolean {
    const { segments, generation } = view
    const chunksMax = segments.reduce((sum, { data }) => sum + data.chunks, 0)
    let without = 0
    for (const segment of segments) {
      if (this.in(segment).withWords.length > 0) without += this.#visibleIn(segment, filter, generation).without
      if (without * pendingOneIn > chunksMax) return true
    }
    const enough = without * pendingOneIn
    let visible = 0
    for (const segment of segments) {
      if (visible >= enough) return false
      const counted = this.#visibleIn(segment, filter, generation)
      counted.chunks ??= countVisible(segment, filter, generation)
      visible += counted.chunks
    }
    return visible < enough
  }

  #visibleIn(segment: Segment, filter: CompiledFilter, generation: number): Visible {
    const bySegment = this.#visible.get(filter) ?? new WeakMap<Segment, Visible>()
    this.#visible.set(filter, bySegment)
    const missing = this.in(segment)
    const deletions = deletionsAt(segment, generation)
    const known = bySegment.get(segment)
    if (known?.missing === missing && known.deletions === deletions) return known
    let without = 0
    for (const chunk of missing.withWords) if (isVisible(segment, chunk, filter, generation)) without++
    const counted = { missing, deletions, without, chunks: known?.deletions === deletions ? known.chunks : null }
    bySegment.set(segment, counted)
    return counted
  }
}

const isVisible = ({ data, deletedAt }: Segment, chunk: number, filter: CompiledFilter, generation: number): boolean =>
  (filter.maskOf(data, chunk) & bodyMask) !== 0 && deletedAt[chunk]! > generation

function countVisible(segment: Segment, filter: CompiledFilter, generation: number): number {
  let visible = 0
  for (let chunk = 0; chunk < segment.data.chunks; chunk++) {
    if (hasBody(segment.data, chunk) && isVisible(segment, chunk, filter, generation)) visible++
  }
  return visible
}

/**
 * A page of chunks without a vector: whole documents, ordered by id, with `limit` chunks and the rest of the last
 * document. `isWanted` says by class number whether chunks of that filter class are included.
 */
export function pageWithoutVector(
  { segments, generation }: SearchView,
  missing: MissingVectors,
  isWanted: readonly boolean[],
  { after, limit }: { readonly after: string | null; readonly limit: number },
): WithoutVectorPage {
  const found = segments.flatMap((segment): FoundChunk[] => {
    const { data, deletedAt } = segment
    const from = after === null ? 0 : data.documentFirstChunk[documentAfter(data, after)]!
    const own: FoundChunk[] = []
    const { chunks } = missing.in(segment)
    for (let at = lowerBound(chunks, from, 0, chunks.length); at < chunks.length; at++) {
      const chunk = chunks[at]!
      if (deletedAt[chunk]! <= generation || !isWanted[data.chunkClass[chunk]!]) continue
      own.push({ data, chunk })
      // One chunk of a document beyond the page shows that there is a next page.
      if (own.length > limit && !sameDocument(own.at(-1)!, own[limit - 1]!)) break
    }
    return own
  })
  found.sort((a, b) => compareDocumentIds(a.data, documentOf(a), b.data, documentOf(b)) || a.chunk - b.chunk)
  let end = Math.min(limit, found.length)
  while (end < found.length && sameDocument(found[end - 1]!, found[end]!)) end++
  const chunks = found.slice(0, end).map(({ data, chunk }) => ({
    documentId: documentIdAt(data, data.chunkDocument[chunk]!),
    chunkId: chunkIdAt(data, chunk),
  }))
  return { outcome: 'found', chunks, next: end < found.length ? chunks.at(-1)!.documentId : null }
}

interface FoundChunk {
  readonly data: SegmentData
  readonly chunk: number
}

const documentOf = ({ data, chunk }: FoundChunk): number => data.chunkDocument[chunk]!
const sameDocument = (a: FoundChunk, b: FoundChunk): boolean => a.data === b.data && documentOf(a) === documentOf(b)

/** The first document of the segment whose id is above `id`. */
function documentAfter(data: SegmentData, id: string): number {
  const bytes = new TextEncoder().encode(id)
  const at = lowerBoundDocument(data, bytes)
  return at < data.documents && documentIdAt(data, at) === id ? at + 1 : at
}
