import type { MergedColumn } from '../format/merge-segments.ts'
import { openSegmentData } from '../format/segment-data.ts'
import { columnLayout, fewWithVector, sparseLayout, VectorColumn } from '../format/vector-column.ts'
import { Arena, type Block, bytesOf } from '../memory/arena.ts'
import {
  type ColumnPlace,
  deletionBytes,
  neverDeleted,
  openColumn,
  openSegment,
  type SegmentPlace,
} from '../memory/segment.ts'
import type { TermDictionary } from '../memory/term-dictionary.ts'
import { writeWordOrder } from '../memory/word-order.ts'

/** The location of segment data, and beside it the deletions of its chunks: the kernel sees one arena at a time. */
export type SegmentRoom = Pick<SegmentPlace, 'image' | 'deletedAt'>

/** Complete, and not in the list yet. */
export type PlacedSegment = Omit<SegmentPlace, 'id'>

/** Puts segments into shared memory. They are invisible until they are published. */
export class SegmentRooms {
  readonly arena: Arena
  readonly #dictionary: TermDictionary

  constructor(dictionary: TermDictionary, arenaBytes?: number) {
    this.arena = new Arena(arenaBytes)
    this.#dictionary = dictionary
  }

  reserve(dataBytes: number, chunks: number): SegmentRoom {
    const deletedAtOffset = Math.ceil(dataBytes / 64) * 64
    const deletedAtBytes = deletionBytes(chunks)
    const { arena, offset } = this.arena.allocate(deletedAtOffset + deletedAtBytes)
    return {
      image: { arena, offset, bytes: dataBytes },
      deletedAt: { arena, offset: offset + deletedAtOffset, bytes: deletedAtBytes },
    }
  }

  /**
   * Allocates the rest for segment data that is in its room already; if there is no memory, the room is released too.
   */
  complete(room: SegmentRoom, columns: Iterable<MergedColumn>, sealed: boolean): PlacedSegment {
    const { memories } = this.arena
    const columnPlaces: ColumnPlace[] = []
    const { terms, chunks } = openSegmentData(bytesOf(memories, room.image))
    let order: Block | undefined
    try {
      order = this.arena.allocate(terms * Uint32Array.BYTES_PER_ELEMENT)
      for (const column of columns) columnPlaces.push(this.#placeColumn(column, chunks, sealed))
    } catch (error) {
      this.release({ ...room, ...(order && { order }), columns: columnPlaces })
      throw error
    }
    const placed = { ...room, order, columns: columnPlaces, replaced: [] }
    const segment = openSegment(memories, { id: 0, ...placed })
    segment.deletedAt.fill(neverDeleted)
    segment.deletedAt.fill(0, segment.image.chunks)
    writeWordOrder(segment.image.term, this.#dictionary, segment.order)
    return placed
  }

  /** Releases memory that was reserved and never published, or that no thread can be using any more. */
  release({ image, deletedAt, order, columns = [], replaced = [] }: SegmentRoom & Partial<SegmentPlace>): void {
    const whole = { arena: image.arena, offset: image.offset, bytes: deletedAt.offset + deletedAt.bytes - image.offset }
    const others = [...(order ? [order] : []), ...columns.map((column) => column.block), ...replaced]
    for (const block of [whole, ...others]) this.arena.free(block)
  }

  /** In a segment that is not sealed nearly every chunk may still get its vector. */
  #placeColumn({ profile, dimensions, raw }: MergedColumn, chunks: number, sealed: boolean): ColumnPlace {
    const { memories } = this.arena
    const few = sealed ? fewWithVector(raw, chunks) : null
    if (few === null) {
      const block = this.arena.allocate(columnLayout(chunks, dimensions).total)
      bytesOf(memories, block).set(raw)
      return { profile, dimensions, rows: null, block }
    }
    const block = this.arena.allocate(sparseLayout(few.length, dimensions).total)
    bytesOf(memories, block).fill(0)
    const place = { profile, dimensions, rows: few.length, block }
    const { column } = openColumn(memories, place, chunks)
    column.chunks!.set(few)
    column.copyRows(new VectorColumn(columnLayout(chunks, dimensions), raw))
    return place
  }
}

/** The same in memories whose numbers are higher by `shift`. */
export function shifted(placed: PlacedSegment, shift: number): PlacedSegment {
  const moved = (block: Block): Block => ({ ...block, arena: block.arena + shift })
  return {
    image: moved(placed.image),
    deletedAt: moved(placed.deletedAt),
    order: moved(placed.order),
    columns: placed.columns.map((column) => ({ ...column, block: moved(column.block) })),
    replaced: placed.replaced.map(moved),
  }
}
