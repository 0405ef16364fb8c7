import type { MergedColumn } from '../format/merge-segments.ts'
import { openSegmentData } from '../format/segment-data.ts'
import { columnLayout, sparseChunks, sparseLayout, VectorColumn } from '../format/vector-column.ts'
import { Arena, type Block, bytesOf } from '../memory/arena.ts'
import {
  type ColumnLocation,
  deletionBytes,
  neverDeleted,
  openColumn,
  openSegment,
  type SegmentLocation,
} from '../memory/segment.ts'
import type { TermDictionary } from '../memory/term-dictionary.ts'
import { writeWordOrder } from '../memory/word-order.ts'

/**
 * The location of segment data and of its deletions, which are beside it, because a kernel sees one arena at a time.
 */
export type SegmentAllocation = Pick<SegmentLocation, 'data' | 'deletedAt'>

/** A complete segment in shared memory that is not in the list yet. */
export type PlacedSegment = Omit<SegmentLocation, 'id'>

/** Puts segments into shared memory. They are invisible until they are published. */
export class SegmentAllocator {
  readonly arena: Arena
  readonly #dictionary: TermDictionary

  constructor(dictionary: TermDictionary, arenaBytes?: number) {
    this.arena = new Arena(arenaBytes)
    this.#dictionary = dictionary
  }

  reserve(dataBytes: number, chunks: number): SegmentAllocation {
    const deletedAtOffset = Math.ceil(dataBytes / 64) * 64
    const deletedAtBytes = deletionBytes(chunks)
    const { arena, offset } = this.arena.allocate(deletedAtOffset + deletedAtBytes)
    return {
      data: { arena, offset, bytes: dataBytes },
      deletedAt: { arena, offset: offset + deletedAtOffset, bytes: deletedAtBytes },
    }
  }

  /**
   * Allocates the rest of a segment whose data is in its allocation already. If there is no memory, that allocation is
   * released too.
   */
  complete(allocation: SegmentAllocation, columns: Iterable<MergedColumn>, sealed: boolean): PlacedSegment {
    const { memories } = this.arena
    const columnLocations: ColumnLocation[] = []
    const { terms, chunks } = openSegmentData(bytesOf(memories, allocation.data))
    let order: Block | undefined
    try {
      order = this.arena.allocate(terms * Uint32Array.BYTES_PER_ELEMENT)
      for (const column of columns) columnLocations.push(this.#placeColumn(column, chunks, sealed))
    } catch (error) {
      this.release({ ...allocation, ...(order && { order }), columns: columnLocations })
      throw error
    }
    const placed = { ...allocation, order, columns: columnLocations, replaced: [] }
    const segment = openSegment(memories, { id: 0, ...placed })
    segment.deletedAt.fill(neverDeleted)
    segment.deletedAt.fill(0, segment.data.chunks)
    writeWordOrder(segment.data.term, this.#dictionary, segment.order)
    return placed
  }

  /** Releases memory that was reserved and never published, or that no thread can be using any more. */
  release({ data, deletedAt, order, columns = [], replaced = [] }: SegmentAllocation & Partial<SegmentLocation>): void {
    const whole = { arena: data.arena, offset: data.offset, bytes: deletedAt.offset + deletedAt.bytes - data.offset }
    const others = [...(order ? [order] : []), ...columns.map((column) => column.block), ...replaced]
    for (const block of [whole, ...others]) this.arena.free(block)
  }

  /** A column of an unsealed segment has a row for every chunk, because nearly every chunk may still get its vector. */
  #placeColumn({ profile, dimensions, raw }: MergedColumn, chunks: number, sealed: boolean): ColumnLocation {
    const { memories } = this.arena
    const sparse = sealed ? sparseChunks(raw, chunks) : null
    if (sparse === null) {
      const block = this.arena.allocate(columnLayout(chunks, dimensions).total)
      bytesOf(memories, block).set(raw)
      return { profile, dimensions, rows: null, block }
    }
    const block = this.arena.allocate(sparseLayout(sparse.length, dimensions).total)
    bytesOf(memories, block).fill(0)
    const location = { profile, dimensions, rows: sparse.length, block }
    const { column } = openColumn(memories, location, chunks)
    column.chunks!.set(sparse)
    column.copyRows(new VectorColumn(columnLayout(chunks, dimensions), raw))
    return location
  }
}

/** The same segment in memories whose numbers are higher by `shift`. */
export function shifted(placed: PlacedSegment, shift: number): PlacedSegment {
  const moved = (block: Block): Block => ({ ...block, arena: block.arena + shift })
  return {
    data: moved(placed.data),
    deletedAt: moved(placed.deletedAt),
    order: moved(placed.order),
    columns: placed.columns.map((column) => ({ ...column, block: moved(column.block) })),
    replaced: placed.replaced.map(moved),
  }
}
