import { openSegmentData, type SegmentData } from '../format/segment-data.ts'
import { columnLayout, sparseLayout, VectorColumn } from '../format/vector-column.ts'
import { type Block, bytesOf } from './arena.ts'

/** The location of a segment in shared memory, as it passes between threads. */
export interface SegmentLocation {
  readonly id: number
  readonly data: Block
  readonly deletedAt: Block
  readonly order: Block
  readonly columns: readonly ColumnLocation[]
  /**
   * Blocks that were replaced by others. They are freed with the segment, because a search or a merge may still use
   * them.
   */
  readonly replaced: readonly Block[]
}

export interface ColumnLocation {
  readonly profile: number
  readonly dimensions: number
  /** `null` for one row for every chunk. */
  readonly rows: number | null
  readonly block: Block
}

/** An open segment: its data, its deletions, the order of its words, and its vectors by profile number. */
export interface Segment {
  readonly id: number
  /** The arena that holds the data and the deletions. */
  readonly arena: number
  readonly data: SegmentData
  /**
   * The generation that deleted each chunk, `neverDeleted` for the others. After the last chunk follow the number of
   * deleted chunks, and how often a vector was set since the segment was placed in memory.
   */
  readonly deletedAt: Int32Array<ArrayBufferLike>
  /** The deleted chunks in the order of deletion. */
  readonly deletionOrder: Uint16Array<ArrayBufferLike>
  /** Positions in the list of terms, ordered by the first bytes of the words (`word-order.ts`). */
  readonly order: Uint32Array<ArrayBufferLike>
  readonly columns: Map<number, OpenColumn>
}

export interface OpenColumn {
  readonly column: VectorColumn
  readonly location: ColumnLocation
}

export const neverDeleted = 0x7fffffff

/** The state that one search sees, from start to end. */
export interface SearchView {
  readonly segments: readonly Segment[]
  readonly generation: number
}

export function openSegment(memories: readonly WebAssembly.Memory[], location: SegmentLocation): Segment {
  const deletedAt = bytesOf(memories, location.deletedAt)
  const order = bytesOf(memories, location.order)
  const data = openSegmentData(bytesOf(memories, location.data))
  return {
    id: location.id,
    arena: location.data.arena,
    data,
    deletedAt: new Int32Array(deletedAt.buffer, deletedAt.byteOffset, deletedAtNumbers(data.chunks)),
    deletionOrder: new Uint16Array(
      deletedAt.buffer,
      deletedAt.byteOffset + deletedAtNumbers(data.chunks) * 4,
      data.chunks,
    ),
    order: new Uint32Array(order.buffer, order.byteOffset, data.terms),
    columns: new Map(location.columns.map((column) => [column.profile, openColumn(memories, column, data.chunks)])),
  }
}

/** The length of the array of generations. */
const deletedAtNumbers = (chunks: number): number => chunks + 2

/** The bytes of both arrays of deletions. */
export function deletionBytes(chunks: number): number {
  return deletedAtNumbers(chunks) * 4 + chunks * 2
}

/** For the writer only. The count is written last, so that a reader that sees it sees the rest. */
export function markDeleted({ data, deletedAt, deletionOrder }: Segment, chunk: number, generation: number): void {
  const before = deletedAt[data.chunks]!
  deletionOrder[before] = chunk
  deletedAt[chunk] = generation
  Atomics.store(deletedAt, data.chunks, before + 1)
}

/** The number of chunks that are deleted for a search of this generation. */
export function deletionsAt({ data, deletedAt, deletionOrder }: Segment, generation: number): number {
  let deletions = Atomics.load(deletedAt, data.chunks)
  while (deletions > 0 && deletedAt[deletionOrder[deletions - 1]!]! > generation) deletions--
  return deletions
}

/** Called after the vector is written to its column, so that a reader of the new count sees the vector too. */
export function countVectorSet({ data, deletedAt }: Segment): void {
  Atomics.add(deletedAt, data.chunks + 1, 1)
}

export const vectorsSet = ({ data, deletedAt }: Segment): number => Atomics.load(deletedAt, data.chunks + 1)

/** Deletions after the start of a search have a later generation, so a search need only check once. */
export function hasDeletions({ data, deletedAt }: Pick<Segment, 'data' | 'deletedAt'>): boolean {
  return deletedAt[data.chunks]! > 0
}

export function openColumn(
  memories: readonly WebAssembly.Memory[],
  location: ColumnLocation,
  chunks: number,
): OpenColumn {
  const { rows, dimensions, block } = location
  const layout = rows === null ? columnLayout(chunks, dimensions) : sparseLayout(rows, dimensions)
  return { location, column: new VectorColumn(layout, bytesOf(memories, block)) }
}

/** The segment's vector columns without their locations, by profile number. */
export function columnsOf(segment: Segment): Map<number, VectorColumn> {
  return new Map([...segment.columns].map(([profile, { column }]) => [profile, column]))
}
