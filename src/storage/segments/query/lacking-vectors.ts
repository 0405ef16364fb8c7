import { pendingOneIn, type WithoutVectorPage } from '../../../search/search-index.ts'
import {
  chunkIdAt,
  compareDocumentIds,
  documentIdAt,
  lowerBoundDocument,
  type SegmentImage,
} from '../format/segment-image.ts'
import { type OpenColumn, type SearchView, type Segment, vectorsSet } from '../memory/segment.ts'
import { bodyMask, type CompiledFilter } from './compile-filter.ts'

const hasBody = ({ bodyStart }: SegmentImage, chunk: number): boolean => bodyStart[chunk]! < bodyStart[chunk + 1]!

/** The chunks of each segment that have a body and no vector of one profile, dead ones included: mostly none at all. */
export class LackingVectors {
  readonly #profile: number | null
  readonly #known = new WeakMap<Segment, { set: number; column: OpenColumn | undefined; chunks: Uint16Array }>()

  /** `null` for a profile of which there is no vector. */
  constructor(profile: number | null) {
    this.#profile = profile
  }

  /** Looked for again only where a vector was set since. */
  in(segment: Segment): Uint16Array {
    const set = vectorsSet(segment)
    const column = this.#profile === null ? undefined : segment.columns.get(this.#profile)
    const known = this.#known.get(segment)
    if (known?.set === set && known.column === column) return known.chunks
    const { image } = segment
    const found = new Uint16Array(image.chunks)
    let count = 0
    for (let chunk = 0; chunk < image.chunks; chunk++) {
      if (column?.column.present[chunk] !== 1 && hasBody(image, chunk)) found[count++] = chunk
    }
    const chunks = found.slice(0, count)
    this.#known.set(segment, { set, column, chunks })
    return chunks
  }
}

/**
 * Whether more than one in `pendingOneIn` of the visible chunks lacks a vector. Exact: what the filter hides changes nothing. Where
 * nothing lacks one this costs nothing, and where much does, it is clear before all is counted.
 */
export function lacksMany(
  { segments, generation }: SearchView,
  filter: CompiledFilter,
  lacking: LackingVectors,
): boolean {
  const isVisible = ({ image, died }: Segment, chunk: number): boolean =>
    (filter.maskOf(image, chunk) & bodyMask) !== 0 && died[chunk]! > generation
  const chunksMax = segments.reduce((sum, { image }) => sum + image.chunks, 0)
  let without = 0
  for (const segment of segments) {
    for (const chunk of lacking.in(segment)) if (isVisible(segment, chunk)) without++
    if (without * pendingOneIn > chunksMax) return true
  }
  if (without === 0) return false
  const enough = without * pendingOneIn
  let visible = 0
  for (const segment of segments) {
    for (let chunk = 0; chunk < segment.image.chunks && visible < enough; chunk++) {
      if (hasBody(segment.image, chunk) && isVisible(segment, chunk)) visible++
    }
  }
  return visible < enough
}

/** Whole documents, in the order of their ids; as many chunks as `limit`, or the rest of a document more. */
export function pageWithoutVector(
  { segments, generation }: SearchView,
  lacking: LackingVectors,
  after: string | null,
  limit: number,
): WithoutVectorPage {
  const found = segments.flatMap((segment): Placed[] => {
    const { image, died } = segment
    const from = after === null ? 0 : image.documentFirstChunk[documentAfter(image, after)]!
    const own: Placed[] = []
    for (const chunk of lacking.in(segment)) {
      if (chunk < from || died[chunk]! <= generation) continue
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

/** The first document of the segment whose id is above `id`. */
function documentAfter(image: SegmentImage, id: string): number {
  const bytes = new TextEncoder().encode(id)
  const at = lowerBoundDocument(image, bytes)
  return at < image.documents && documentIdAt(image, at) === id ? at + 1 : at
}
