import { catalogRows } from '../../../document/rows.ts'
import { BlobReader } from '../file/blob-reader.ts'
import { DamagedFile } from '../file/damage.ts'
import type { SegmentRow } from '../file/durable-file.ts'
import type { MergedColumn } from '../format/merge-segments.ts'
import { type CatalogColumn, openSegmentData, type SegmentData } from '../format/segment-data.ts'
import { bytesOf } from '../memory/arena.ts'
import { recordSegmentRoles } from '../memory/term-dictionary.ts'
import type { PlacedSegment, SegmentAllocator } from './segment-allocator.ts'

/** Throws `DamagedFile` if the segment data names an unknown term or class. */
export function checkSegmentData(data: SegmentData, terms: number, classes: number): void {
  if (data.terms > 0 && data.term[data.terms - 1]! >= terms) throw new DamagedFile('a segment has an unknown term')
  for (const { property, kind } of catalogRows) {
    const { starts, values } = data.catalog[property]!
    if (kind !== 'integer' && !areBelow(values, terms)) throw new DamagedFile('a segment has an unknown catalog value')
    if (starts !== null && starts.length !== data.documents + 1)
      throw new DamagedFile('the lists of a catalog column do not match the documents')
  }
  if (!areBelow(data.chunkClass, classes)) throw new DamagedFile('a segment has an unknown filter class')
}

function areBelow(numbers: CatalogColumn['values'], limit: number): boolean {
  for (let i = 0; i < numbers.length; i++) if (numbers[i]! >= limit) return false
  return true
}

/**
 * Loads sealed segments from the file into memory. Several threads may do so, each with its own loader and allocator.
 */
export class SealedLoader implements Disposable {
  readonly #roles: Uint8Array
  readonly #blobs: BlobReader
  readonly #allocator: SegmentAllocator
  readonly #classes: number
  /** One buffer for all columns: the system has to zero new memory, which takes about as long as reading them. */
  readonly #raw: Uint8Array<ArrayBuffer>

  /** `roles` has an entry for each term and is updated (`term-shapes.ts`). */
  constructor(
    path: string,
    rows: readonly SegmentRow[],
    allocator: SegmentAllocator,
    roles: Uint8Array,
    classes: number,
  ) {
    this.#roles = roles
    this.#blobs = new BlobReader(path)
    this.#allocator = allocator
    this.#classes = classes
    this.#raw = new Uint8Array(Math.max(0, ...rows.flatMap(({ columns }) => columns.map(({ bytes }) => bytes))))
  }

  load(row: SegmentRow): PlacedSegment {
    const allocator = this.#allocator
    const allocation = allocator.reserve(row.image.bytes, row.chunks)
    try {
      const bytes = bytesOf(allocator.arena.memories, allocation.data)
      this.#blobs.read(row.image, bytes)
      const data = openSegmentData(bytes)
      checkSegmentData(data, this.#roles.length, this.#classes)
      if (data.chunks !== row.chunks) throw new DamagedFile('the number of chunks of a segment does not match its row')
      recordSegmentRoles(data, this.#roles)
    } catch (error) {
      allocator.release(allocation)
      throw error
    }
    return allocator.complete(allocation, this.#readColumns(row), true)
  }

  [Symbol.dispose](): void {
    // Released at once, because a thread that has loaded its index does not collect garbage soon.
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
