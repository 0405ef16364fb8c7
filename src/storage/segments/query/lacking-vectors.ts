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

interface Lacking {
  /** The number of vectors set, and the column, at the time of the lookup. */
  readonly set: number
  readonly column: OpenColumn | undefined
  /** Includes deleted chunks. */
  readonly chunks: Uint16Array
  /**
   * The chunks with words in their body. A text of punctuation alone has a vector too, but no word shows that it
   * exists.
   */
  readonly withWords: Uint16Array
}

/** The part of one segment that a filter shows. */
interface Visible {
  readonly lacking: Lacking
  readonly deletions: number
  readonly without: number
  /** The number of chunks with a body, with or without a vector; `null` until it is needed. */
  chunks: number | null
}

/**
 * The chunks without a vector of one profile: usually those that only have a title. Lookups are cached by segment, and
 * counts by filter, until something changes.
 */
export class LackingVectors {
  readonly #profile: number | null
  readonly #known = new WeakMap<Segment, Lacking>()
  readonly #visible = new WeakMap<CompiledFilter, WeakMap<Segment, Visible>>()

  /** `null` for a profile without any vector. */
  constructor(profile: number | null) {
    this.#profile = profile
  }

  in(segment: Segment): Lacking {
    const set = vectorsSet(segment)
    const column = this.#profile === null ? undefined : segment.columns.get(this.#profile)
    const known = this.#known.get(segment)
    if (known?.set === set && known.column === column) return known
    const { image } = segment
    const found = new Uint16Array(image.chunks)
    let count = 0
    for (let chunk = 0; chunk < image.chunks; chunk++) {
      if (column?.column.has(chunk) !== true) found[count++] = chunk
    }
    const chunks = found.slice(0, count)
    const lacking = { set, column, chunks, withWords: chunks.filter((chunk) => hasBody(image, chunk)) }
    this.#known.set(segment, lacking)
    return lacking
  }

  /**
   * Whether more than one in `pendingOneIn` of the visible chunks has no vector. The result is exact and does not
   * depend on hidden chunks. It is free if no vector is missing, stops early if many are, and a cached filter counts
   * only changed segments. At a million chunks the first count of a filter takes some milliseconds.
   */
  areMany(view: SearchView, filter: CompiledFilter): boolean {
    const { segments, generation } = view
    const chunksMax = segments.reduce((sum, { image }) => sum + image.chunks, 0)
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
    const lacking = this.in(segment)
    const deletions = deletionsAt(segment, generation)
    const known = bySegment.get(segment)
    if (known?.lacking === lacking && known.deletions === deletions) return known
    let without = 0
    for (const chunk of lacking.withWords) if (isVisible(segment, chunk, filter, generation)) without++
    const counted = { lacking, deletions, without, chunks: known?.deletions === deletions ? known.chunks : null }
    bySegment.set(segment, counted)
    return counted
  }
}

const isVisible = ({ image, deletedAt }: Segment, chunk: number, filter: CompiledFilter, generation: number): boolean =>
  (filter.maskOf(image, chunk) & bodyMask) !== 0 && deletedAt[chunk]! > generation

function countVisible(segment: Segment, filter: CompiledFilter, generation: number): number {
  let visible = 0
  for (let chunk = 0; chunk < segment.image.chunks; chunk++) {
    if (hasBody(segment.image, chunk) && isVisible(segment, chunk, filter, generation)) visible++
  }
  return visible
}

/**
 * Whole documents, ordered by id; `limit` chunks, plus the rest of the last document. `classes` has the numbers of the
 * filter classes to include.
 */
export function pageWithoutVector(
  { segments, generation }: SearchView,
  lacking: LackingVectors,
  isWanted: readonly boolean[],
  { after, limit }: { readonly after: string | null; readonly limit: number },
): WithoutVectorPage {
  const found = segments.flatMap((segment): Placed[] => {
    const { image, deletedAt } = segment
    const from = after === null ? 0 : image.documentFirstChunk[documentAfter(image, after)]!
    const own: Placed[] = []
    const { chunks } = lacking.in(segment)
    for (let at = lowerBound(chunks, from, 0, chunks.length); at < chunks.length; at++) {
      const chunk = chunks[at]!
      if (deletedAt[chunk]! <= generation || !isWanted[image.chunkClass[chunk]!]) continue
      own.push({ image, chunk })
      // A chunk of one document beyond the page shows that there is more.
      if (own.length > limit && !sameDocument(own.at(-1)!, own[limit - 1]!)) break
    }
    return own
  })
  found.sort((a, b) => compareDocumentIds(a.image, documentOf(a), b.image, documentOf(b)) || a.chunk - b.chunk)
  let end = Math.min(limit, found.length)
  while (end < found.length && sameDocument(found[end - 1]!, found[end]!)) end++
  const chunks = found.slice(0, end).map(({ image, chunk }) => ({
    documentId: documentIdAt(image, image.chunkDocument[chunk]!),
    chunkId: chunkIdAt(image, chunk),
  }))
  return { outcome: 'found', chunks, next: end < found.length ? chunks.at(-1)!.documentId : null }
}

interface Placed {
  readonly image: SegmentData
  readonly chunk: number
}

const documentOf = ({ image, chunk }: Placed): number => image.chunkDocument[chunk]!
const sameDocument = (a: Placed, b: Placed): boolean => a.image === b.image && documentOf(a) === documentOf(b)

/** The first document of the segment whose id is above `id`. */
function documentAfter(image: SegmentData, id: string): number {
  const bytes = new TextEncoder().encode(id)
  const at = lowerBoundDocument(image, bytes)
  return at < image.documents && documentIdAt(image, at) === id ? at + 1 : at
}
