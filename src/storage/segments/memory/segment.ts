import { openImage, type SegmentImage } from '../format/segment-image.ts'
import { columnLayout, sparseLayout, VectorColumn } from '../format/vector-column.ts'
import { type Block, bytesOf } from './arena.ts'

/** Where a segment lies in shared memory: what one thread tells another. */
export interface SegmentPlace {
  readonly id: number
  readonly image: Block
  readonly died: Block
  readonly order: Block
  readonly columns: readonly ColumnPlace[]
  /** What others have taken the place of: free when the segment goes, for a search or a merge may be in it until then. */
  readonly replaced: readonly Block[]
}

export interface ColumnPlace {
  readonly profile: number
  readonly dimensions: number
  /** `null`: one for every chunk. */
  readonly rows: number | null
  readonly block: Block
}

/** An image, its deaths, the order of its words, and its vectors by profile number. */
export interface Segment {
  readonly id: number
  /** The arena that image and deaths lie in. */
  readonly arena: number
  readonly image: SegmentImage
  /**
   * The generation at which a chunk died; `alive` for the others. After the last chunk: how many have died, and how often
   * a vector was set since the segment was placed.
   */
  readonly died: Int32Array<ArrayBufferLike>
  /** The dead in the order of their deaths. */
  readonly deathOrder: Uint16Array<ArrayBufferLike>
  /** Places in the list of terms, by the words' first bytes, see `word-order.ts`. */
  readonly order: Uint32Array<ArrayBufferLike>
  readonly columns: Map<number, OpenColumn>
}

export interface OpenColumn {
  readonly column: VectorColumn
  readonly place: ColumnPlace
}

export const neverDied = 0x7fffffff

/** What one search looks at, from beginning to end. */
export interface SearchView {
  readonly segments: readonly Segment[]
  readonly generation: number
}

/** Where a document lies: in the segment of this number in a view. */
export interface Place {
  readonly segment: number
  readonly document: number
}

export function openSegment(memories: readonly WebAssembly.Memory[], place: SegmentPlace): Segment {
  const died = bytesOf(memories, place.died)
  const order = bytesOf(memories, place.order)
  const image = openImage(bytesOf(memories, place.image))
  return {
    id: place.id,
    arena: place.image.arena,
    image,
    died: new Int32Array(died.buffer, died.byteOffset, diedNumbers(image.chunks)),
    deathOrder: new Uint16Array(died.buffer, died.byteOffset + diedNumbers(image.chunks) * 4, image.chunks),
    order: new Uint32Array(order.buffer, order.byteOffset, image.terms),
    columns: new Map(place.columns.map((column) => [column.profile, openColumn(memories, column, image.chunks)])),
  }
}

/** How many numbers `died` has. */
const diedNumbers = (chunks: number): number => chunks + 2

/** Room for `died` and `deathOrder`. */
export function deathBytes(chunks: number): number {
  return diedNumbers(chunks) * 4 + chunks * 2
}

/** For the writer alone. The count is last: whoever sees it sees the rest. */
export function markDead({ image, died, deathOrder }: Segment, chunk: number, generation: number): void {
  const before = died[image.chunks]!
  deathOrder[before] = chunk
  died[chunk] = generation
  Atomics.store(died, image.chunks, before + 1)
}

/** How many of `deathOrder` are dead for a search of this generation. */
export function deathsAt({ image, died, deathOrder }: Segment, generation: number): number {
  let deaths = Atomics.load(died, image.chunks)
  while (deaths > 0 && died[deathOrder[deaths - 1]!]! > generation) deaths--
  return deaths
}

/** Said after the vector is in its column: who reads the new count reads the vector too. */
export function countVectorSet({ image, died }: Segment): void {
  Atomics.add(died, image.chunks + 1, 1)
}

export const vectorsSet = ({ image, died }: Segment): number => Atomics.load(died, image.chunks + 1)

/** Deaths after the start of a search are of a later generation, so a search may ask once. */
export function hasDeaths({ image, died }: Pick<Segment, 'image' | 'died'>): boolean {
  return died[image.chunks]! > 0
}

export function openColumn(memories: readonly WebAssembly.Memory[], place: ColumnPlace, chunks: number): OpenColumn {
  const { rows, dimensions, block } = place
  const layout = rows === null ? columnLayout(chunks, dimensions) : sparseLayout(rows, dimensions)
  return { place, column: new VectorColumn(layout, bytesOf(memories, block)) }
}

/** The segment's vectors without their places, by profile number. */
export function columnsOf(segment: Segment): Map<number, VectorColumn> {
  return new Map([...segment.columns].map(([profile, { column }]) => [profile, column]))
}
