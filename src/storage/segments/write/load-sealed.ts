import { BlobReader } from '../file/blob-reader.ts'
import { DamagedFile } from '../file/damage.ts'
import type { SegmentRow } from '../file/durable-file.ts'
import type { MergedColumn } from '../format/merge-segments.ts'
import { openSegmentData, type SegmentData } from '../format/segment-data.ts'
import { bytesOf } from '../memory/arena.ts'
import { noteSegment } from '../memory/term-dictionary.ts'
import type { PlacedSegment, SegmentRooms } from './segment-rooms.ts'

/** Throws `DamagedFile` if the segment data names an unknown term or class. */
export function checkSegmentData(image: SegmentData, terms: number, classes: number): void {
  if (image.terms > 0 && image.term[image.terms - 1]! >= terms) throw new DamagedFile('unknown term')
  for (const values of [image.documentAuthor, image.topics, image.tags, image.classifications]) {
    if (!areBelow(values, terms)) throw new DamagedFile('unknown value')
  }
  if (!areBelow(image.chunkClass, classes)) throw new DamagedFile('unknown class')
}

function areBelow(numbers: Uint32Array<ArrayBufferLike>, limit: number): boolean {
  for (let i = 0; i < numbers.length; i++) if (numbers[i]! >= limit) return false
  return true
}

/** Loads sealed segments from the file into memory. Several threads may do so, each with its own loader and rooms. */
export class SealedLoader implements Disposable {
  readonly #roles: Uint8Array
  readonly #blobs: BlobReader
  readonly #rooms: SegmentRooms
  readonly #classes: number
  /** One buffer for all columns: the system has to zero new memory, which takes about as long as reading them. */
  readonly #raw: Uint8Array<ArrayBuffer>

  /** `roles` has an entry for each term and is updated (`term-shapes.ts`). */
  constructor(path: string, rows: readonly SegmentRow[], rooms: SegmentRooms, roles: Uint8Array, classes: number) {
    this.#roles = roles
    this.#blobs = new BlobReader(path)
    this.#rooms = rooms
    this.#classes = classes
    this.#raw = new Uint8Array(Math.max(0, ...rows.flatMap(({ columns }) => columns.map(({ bytes }) => bytes))))
  }

  load(row: SegmentRow): PlacedSegment {
    const rooms = this.#rooms
    const room = rooms.reserve(row.image.bytes, row.chunks)
    try {
      const bytes = bytesOf(rooms.arena.memories, room.image)
      this.#blobs.read(row.image, bytes)
      const image = openSegmentData(bytes)
      checkSegmentData(image, this.#roles.length, this.#classes)
      if (image.chunks !== row.chunks) throw new DamagedFile('chunks do not add up')
      noteSegment(image, this.#roles)
    } catch (error) {
      rooms.release(room)
      throw error
    }
    return rooms.complete(room, this.#readColumns(row), true)
  }

  [Symbol.dispose](): void {
    // Released at once: a thread that has loaded its index has no reason to collect garbage, and would keep the memory.
    this.#raw.buffer.transfer(0)
    this.#blobs[Symbol.dispose]()
  }

  /** Loads one column after the other, in the same buffer. */
  *#readColumns(row: SegmentRow): Generator<MergedColumn> {
    for (const { profile, dimensions, ...blob } of row.columns) {
      const own = this.#raw.subarray(0, blob.bytes)
      this.#blobs.read(blob, own)
      yield { profile, dimensions, raw: own }
    }
  }
}
