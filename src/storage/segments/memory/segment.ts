import { openSegmentData, type SegmentData } from '../format/segment-data.ts'
import { columnLayout, sparseLayout, VectorColumn } from '../format/vector-column.ts'
import { type Block, bytesOf } from './arena.ts'

/** The location of a segment in shared memory, as it passes between threads. */
export interface SegmentPlace {
  readonly id: number
  readonly image: Block
  readonly deletedAt: Block
  readonly order: Block
  readonly columns: readonly ColumnPlace[]
  /**
   * Blocks that others have replaced. They are freed with the segment, because a search or a merge may use them until
   * then.
   */
  readonly replaced: readonly Block[]
}

export interface ColumnPlace {
  readonly profile: number
  readonly dimensions: number
  /** `null`: one for every chunk. */
  readonly rows: number | null
  readonly block: Block
}

/** The data of a segment, its deletions, the order of its words, and its vectors by profile number. */
export interface Segment {
  readonly id: number
  /** The arena that holds the data and the deletions. */
  readonly arena: number
  readonly image: SegmentData
  /**
   * The generation that deleted each chunk; `alive` for the others. After the last chunk: the number of deleted chunks,
   * and how often a vector was set since the segment was placed.
   */
  readonly deletedAt: Int32Array<ArrayBufferLike>
  /** The deleted chunks in the order of deletion. */
  readonly deletionOrder: Uint16Array<ArrayBufferLike>
  /** Positions in the list of terms, ordered by the first bytes of the words, see `word-order.ts`. */
  readonly order: Uint32Array<ArrayBufferLike>
  readonly columns: Map<number, OpenColumn>
}

export interface OpenColumn {
  readonly column: VectorColumn
  readonly place: ColumnPlace
}

export const neverDeleted = 0x7fffffff

/** The state that one search sees, from start to end. */
export interface SearchView {
  readonly segments: readonly Segment[]
  readonly generation: number
}

export function openSegment(memories: readonly WebAssembly.Memory[], place: SegmentPlace): Segment {
  const deletedAt = bytesOf(memories, place.deletedAt)
  const order = bytesOf(memories, place.order)
  const image = openSegmentData(bytesOf(memories, place.image))
  return {
    id: place.id,
    arena: place.image.arena,
    image,
    deletedAt: new Int32Array(deletedAt.buffer, deletedAt.byteOffset, deletedAtNumbers(image.chunks)),
    deletionOrder: new Uint16Array(
      deletedAt.buffer,
      deletedAt.byteOffset + deletedAtNumbers(image.chunks) * 4,
      image.chunks,
    ),
    order: new Uint32Array(order.buffer, order.byteOffset, image.terms),
    columns: new Map(place.columns.map((column) => [column.profile, openColumn(memories, column, image.chunks)])),
  }
}

/** The length of the array of generations. */
const deletedAtNumbers = (chunks: number): number => chunks + 2

/** The bytes of both arrays of deletions. */
export function deletionBytes(chunks: number): number {
  return deletedAtNumbers(chunks) * 4 + chunks * 2
}

/** For the writer only. The count is written last: a reader that sees it sees the rest. */
export function markDeleted({ image, deletedAt, deletionOrder }: Segment, chunk: number, generation: number): void {
  const before = deletedAt[image.chunks]!
  deletionOrder[before] = chunk
  deletedAt[chunk] = generation
  Atomics.store(deletedAt, image.chunks, before + 1)
}

/** The number of chunks that are deleted for a search of this generation. */
export function deletionsAt({ image, deletedAt, deletionOrder }: Segment, generation: number): number {
  let deletions = Atomics.load(deletedAt, image.chunks)
  while (deletions > 0 && deletedAt[deletionOrder[deletions - 1]!]! > generation) deletions--
  return deletions
}

/** Called after the vector is written to its column: a reader of the new count sees the vector too. */
export function countVectorSet({ image, deletedAt }: Segment): void {
  Atomics.add(deletedAt, image.chunks + 1, 1)
}

export const vectorsSet = ({ image, deletedAt }: Segment): number => Atomics.load(deletedAt, image.chunks + 1)

/** Deletions after the start of a search have a later generation, so a search need only check once. */
export function hasDeletions({ image, deletedAt }: Pick<Segment, 'image' | 'deletedAt'>): boolean {
  return deletedAt[image.chunks]! > 0
}

export function openColumn(memories: readonly WebAssembly.Memory[], place: ColumnPlace, chunks: number): OpenColumn {
  const { rows, dimensions, block } = place
  const layout = rows === null ? columnLayout(chunks, dimensions) : sparseLayout(rows, dimensions)
  return { place, column: new VectorColumn(layout, bytesOf(memories, block)) }
}

/** The segment's vector columns without their locations, by profile number. */
export function columnsOf(segment: Segment): Map<number, VectorColumn> {
  return new Map([...segment.columns].map(([profile, { column }]) => [profile, column]))
}
