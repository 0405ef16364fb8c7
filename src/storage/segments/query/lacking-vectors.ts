import { pendingOneIn, type WithoutVectorPage } from '../../../search/search-index.ts'
import {
  chunkIdAt,
  compareDocumentIds,
  documentIdAt,
  lowerBoundDocument,
  type SegmentImage,
} from '../format/segment-image.ts'
import { deathsAt, type OpenColumn, type SearchView, type Segment, vectorsSet } from '../memory/segment.ts'
import { bodyMask, type CompiledFilter } from './compile-filter.ts'

const hasBody = ({ bodyStart }: SegmentImage, chunk: number): boolean => bodyStart[chunk]! < bodyStart[chunk + 1]!

interface Lacking {
  /** How many vectors had been set, and where, when it was looked. */
  readonly set: number
  readonly column: OpenColumn | undefined
  /** Dead ones included. */
  readonly chunks: Uint16Array
  /** Those of them that have words in their body. A text of signs alone has a vector too, but no word tells that it is there. */
  readonly withWords: Uint16Array
}

/** What one filter lets see of one segment. */
interface Visible {
  readonly lacking: Lacking
  readonly deaths: number
  readonly without: number
  /** Those with a body, with or without a vector; `null` while nobody asked. */
  chunks: number | null
}

/**
 * The chunks that have no vector of one profile: mostly those of titles alone. What was looked up is kept for as long as
 * nothing of it changes, by segment, and for each filter that is kept.
 */
export class LackingVectors {
  readonly #profile: number | null
  readonly #known = new WeakMap<Segment, Lacking>()
  readonly #visible = new WeakMap<CompiledFilter, WeakMap<Segment, Visible>>()

  /** `null` for a profile of which there is no vector. */
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
   * Whether more than one in `pendingOneIn` of the visible chunks lacks a vector. Exact: what the filter hides changes
   * nothing. Where nothing lacks one it costs nothing, where much does it is clear before all is counted, and a filter
   * that was used before counts only where something changed. At a million chunks the first count of a filter takes
   * some milliseconds.
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
    const deaths = deathsAt(segment, generation)
    const known = bySegment.get(segment)
    if (known?.lacking === lacking && known.deaths === deaths) return known
    let without = 0
    for (const chunk of lacking.withWords) if (isVisible(segment, chunk, filter, generation)) without++
    const counted = { lacking, deaths, without, chunks: known?.deaths === deaths ? known.chunks : null }
    bySegment.set(segment, counted)
    return counted
  }
}

const isVisible = ({ image, died }: Segment, chunk: number, filter: CompiledFilter, generation: number): boolean =>
  (filter.maskOf(image, chunk) & bodyMask) !== 0 && died[chunk]! > generation

function countVisible(segment: Segment, filter: CompiledFilter, generation: number): number {
  let visible = 0
  for (let chunk = 0; chunk < segment.image.chunks; chunk++) {
    if (hasBody(segment.image, chunk) && isVisible(segment, chunk, filter, generation)) visible++
  }
  return visible
}

/**
 * Whole documents, in the order of their ids; as many chunks as `limit`, or the rest of a document more. Only of the filter
 * classes that are wanted, by their numbers.
 */
export function pageWithoutVector(
  { segments, generation }: SearchView,
  lacking: LackingVectors,
  isWanted: readonly boolean[],
  { after, limit }: { readonly after: string | null; readonly limit: number },
): WithoutVectorPage {
  const found = segments.flatMap((segment): Placed[] => {
    const { image, died } = segment
    const from = after === null ? 0 : image.documentFirstChunk[documentAfter(image, after)]!
    const own: Placed[] = []
    const { chunks } = lacking.in(segment)
    for (let at = lowerBound(chunks, from); at < chunks.length; at++) {
      const chunk = chunks[at]!
      if (died[chunk]! <= generation || !isWanted[image.chunkClass[chunk]!]) continue
      own.push({ image, chunk })
      // A chunk of one document more than the page can reach tells that there is more.
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
  readonly image: SegmentImage
  readonly chunk: number
}

const documentOf = ({ image, chunk }: Placed): number => image.chunkDocument[chunk]!
const sameDocument = (a: Placed, b: Placed): boolean => a.image === b.image && documentOf(a) === documentOf(b)

/** Where the first number of an ascending list stands that is not below `number`. */
function lowerBound(list: Uint16Array, number: number): number {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (list[middle]! < number) low = middle + 1
    else high = middle
  }
  return low
}

/** The first document of the segment whose id is above `id`. */
function documentAfter(image: SegmentImage, id: string): number {
  const bytes = new TextEncoder().encode(id)
  const at = lowerBoundDocument(image, bytes)
  return at < image.documents && documentIdAt(image, at) === id ? at + 1 : at
}
