import type { MergedColumn } from '../format/merge-segments.ts'
import { openImage } from '../format/segment-image.ts'
import { type ColumnLayout, columnLayout, fewWithVector, sparseLayout, VectorColumn } from '../format/vector-column.ts'
import { Arena, type Block, bytesOf } from '../memory/arena.ts'
import {
  type ColumnPlace,
  deathBytes,
  neverDied,
  openColumn,
  openSegment,
  type SegmentPlace,
} from '../memory/segment.ts'
import type { TermDictionary } from '../memory/term-dictionary.ts'
import { writeWordOrder } from '../memory/word-order.ts'

/** Where an image is, and beside it the deaths of its chunks: the kernel sees one arena at a time. */
export type SegmentRoom = Pick<SegmentPlace, 'image' | 'died'>

/** Whole, and not yet one of the list. */
export type PlacedSegment = Omit<SegmentPlace, 'id'>

/** Puts segments into shared memory. Nobody sees them before they are published. */
export class SegmentRooms {
  readonly arena: Arena
  readonly #dictionary: TermDictionary

  constructor(dictionary: TermDictionary, arenaBytes?: number) {
    this.arena = new Arena(arenaBytes)
    this.#dictionary = dictionary
  }

  reserve(imageBytes: number, chunks: number): SegmentRoom {
    const diedAt = Math.ceil(imageBytes / 64) * 64
    const diedBytes = deathBytes(chunks)
    const { arena, offset } = this.arena.allocate(diedAt + diedBytes)
    return {
      image: { arena, offset, bytes: imageBytes },
      died: { arena, offset: offset + diedAt, bytes: diedBytes },
    }
  }

  /** All else for an image that is in its room already; where there is no memory for it, the room goes too. */
  complete(room: SegmentRoom, columns: Iterable<MergedColumn>, sealed: boolean): PlacedSegment {
    const { memories } = this.arena
    const columnPlaces: ColumnPlace[] = []
    const { terms, chunks } = openImage(bytesOf(memories, room.image))
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
    segment.died.fill(neverDied)
    segment.died.fill(0, segment.image.chunks)
    writeWordOrder(segment.image.term, this.#dictionary, segment.order)
    return placed
  }

  /** Rows of bytes are read here and there: one of 384 is 6 times 64 bytes of memory, and 7 where it begins among others. */
  allocateColumn({ total, bytesAt }: ColumnLayout): Block {
    return this.arena.allocate(total, bytesAt)
  }

  /** Gives back what was taken and never published, or what nobody can be in any more. */
  release({ image, died, order, columns = [], replaced = [] }: SegmentRoom & Partial<SegmentPlace>): void {
    const whole = { arena: image.arena, offset: image.offset, bytes: died.offset + died.bytes - image.offset }
    const others = [...(order ? [order] : []), ...columns.map((column) => column.block), ...replaced]
    for (const block of [whole, ...others]) this.arena.free(block)
  }

  /** In a segment that is not sealed nearly every chunk may still get its vector. */
  #placeColumn({ profile, dimensions, raw }: MergedColumn, chunks: number, sealed: boolean): ColumnPlace {
    const { memories } = this.arena
    const few = sealed ? fewWithVector(raw, chunks) : null
    if (few === null) {
      const block = this.allocateColumn(columnLayout(chunks, dimensions))
      bytesOf(memories, block).set(raw)
      return { profile, dimensions, rows: null, block }
    }
    const block = this.allocateColumn(sparseLayout(few.length, dimensions))
    bytesOf(memories, block).fill(0)
    const place = { profile, dimensions, rows: few.length, block }
    const { column } = openColumn(memories, place, chunks)
    column.chunks!.set(few)
    column.copyRows(new VectorColumn(columnLayout(chunks, dimensions), raw))
    return place
  }
}

/** The same in memories that have other numbers: `shift` more. */
export function shifted(placed: PlacedSegment, shift: number): PlacedSegment {
  const moved = (block: Block): Block => ({ ...block, arena: block.arena + shift })
  return {
    image: moved(placed.image),
    died: moved(placed.died),
    order: moved(placed.order),
    columns: placed.columns.map((column) => ({ ...column, block: moved(column.block) })),
    replaced: placed.replaced.map(moved),
  }
}
