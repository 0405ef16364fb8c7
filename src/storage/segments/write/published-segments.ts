import type { MessagePort } from 'node:worker_threads'
import type { FilterClasses } from '../format/filter-classes.ts'
import type { MergedColumn } from '../format/merge-segments.ts'
import { openSegmentData, type SegmentData } from '../format/segment-data.ts'
import { columnLayout } from '../format/vector-column.ts'
import { type Arena, bytesOf } from '../memory/arena.ts'
import type { Control } from '../memory/control.ts'
import {
  type ColumnLocation,
  markDeleted,
  openColumn,
  openSegment,
  type Segment,
  type SegmentLocation,
} from '../memory/segment.ts'
import type { TermDictionary } from '../memory/term-dictionary.ts'
import type { ListUpdate, Profile } from '../memory/thread-messages.ts'
import { type PlacedSegment, SegmentAllocator } from './segment-allocator.ts'

/** A segment with what only the writer knows about it. */
export interface WriterSegment extends Segment {
  location: SegmentLocation
  /** Sealed: one segment of the durable file. Small: joined in memory from the batches that `rows` lists. */
  readonly sealed: boolean
  /** Rows of the durable file with the content of this segment. */
  rows: number[]
  /** False while a merged segment is being written to the file; it takes part in no other merge meanwhile. */
  durable: boolean
  /** Vectors set since the columns were written to the file, as in the file's `late_vector` table. */
  late: number[]
  /** Keys of deleted chunks that `rows` still contain, as in the file's `death` table. */
  deletedKeys: number[]
  liveChunks: number
  liveDocuments: number
}

/** A column that does not belong to its segment yet. */
export interface NewColumn {
  readonly segment: WriterSegment
  readonly location: ColumnLocation
}

/** Whether the segment's column has a row for a vector of the chunk. */
export function hasRow({ columns }: Segment, { number }: Profile, chunk: number): boolean {
  const open = columns.get(number)
  return open !== undefined && open.column.rowOf(chunk) >= 0
}

export interface Deletion {
  readonly segment: WriterSegment
  readonly document: number
}

export interface ListChange {
  readonly add?: readonly WriterSegment[]
  readonly remove?: readonly WriterSegment[]
  readonly deletions?: readonly Deletion[]
  readonly columns?: ListUpdate['columns']
}

/**
 * The writer's view of the state that readers see: the list of segments, their memory, and the number of postings of
 * each term. Every change is sent as one update and published in one step.
 */
export class PublishedSegments {
  list: WriterSegment[] = []
  readonly allocator: SegmentAllocator
  readonly #control: Control
  readonly #dictionary: TermDictionary
  readonly #classes: FilterClasses
  readonly #profiles: readonly Profile[]
  readonly #readers = new Map<number, MessagePort>()
  #retired: { version: number; locations: SegmentLocation[] }[] = []
  #sentMemories = 0
  #sentClasses = 0
  #nextId = 1
  /** Incremented whenever the file of vectors is created again. */
  fileEpoch = 0

  constructor(
    control: Control,
    dictionary: TermDictionary,
    classes: FilterClasses,
    profiles: readonly Profile[],
    arenaBytes?: number,
  ) {
    this.allocator = new SegmentAllocator(dictionary, arenaBytes)
    this.#control = control
    this.#dictionary = dictionary
    this.#classes = classes
    this.#profiles = profiles
  }

  get arena(): Arena {
    return this.allocator.arena
  }

  /** Adds a reader that receives every change from now on. Its first update is the whole published list. */
  addReader(reader: number, port: MessagePort): void {
    this.#readers.get(reader)?.close()
    this.#readers.set(reader, port)
    const update: ListUpdate = {
      kind: 'list',
      version: this.#control.version,
      memories: [...this.arena.memories.entries()].slice(0, this.#sentMemories),
      add: this.list.map((segment) => segment.location),
      remove: [],
      columns: [],
      classesFrom: 0,
      classes: this.#classes.list.slice(0, this.#sentClasses),
      profiles: [...this.#profiles],
      fileEpoch: this.fileEpoch,
    }
    port.postMessage(update)
  }

  /** The number of chunks that are not deleted. */
  get chunks(): number {
    return this.list.reduce((sum, segment) => sum + segment.liveChunks, 0)
  }

  get generation(): number {
    return this.#control.generation
  }

  /** Puts a segment into shared memory. It is invisible until it is published. */
  place(data: Uint8Array, columns: readonly MergedColumn[], sealed: boolean, rows: number[]): WriterSegment {
    const allocation = this.allocator.reserve(data.length, openSegmentData(data).chunks)
    bytesOf(this.arena.memories, allocation.data).set(data)
    return this.adopt(this.allocator.complete(allocation, columns, sealed), sealed, rows)
  }

  /** Turns a placed segment into one of the writer's, for the next published list. */
  adopt(placed: PlacedSegment, sealed: boolean, rows: number[]): WriterSegment {
    const location = { id: this.#nextId++, ...placed }
    const segment = openSegment(this.arena.memories, location)
    return {
      ...segment,
      location,
      sealed,
      rows,
      durable: true,
      late: [],
      deletedKeys: [],
      liveChunks: segment.data.chunks,
      liveDocuments: segment.data.documents,
    }
  }

  /** Reserves a column with a row for every chunk, and copies the vectors that the segment has so far. */
  reserveColumn(segment: WriterSegment, profile: Profile): NewColumn {
    const { memories } = this.arena
    const { chunks } = segment.data
    const block = this.allocator.arena.allocate(columnLayout(chunks, profile.dimensions).total)
    bytesOf(memories, block).fill(0)
    const location = { profile: profile.number, dimensions: profile.dimensions, rows: null, block }
    const before = segment.columns.get(profile.number)
    if (before !== undefined) openColumn(memories, location, chunks).column.copyRows(before.column)
    return { segment, location }
  }

  /** Adds the column to its segment. Readers receive it with the next update. */
  attachColumn({ segment, location }: NewColumn): ListUpdate['columns'][number] {
    const before = segment.columns.get(location.profile)?.location
    const { columns, replaced } = segment.location
    segment.columns.set(location.profile, openColumn(this.arena.memories, location, segment.data.chunks))
    segment.location = {
      ...segment.location,
      columns: [...columns.filter((column) => column !== before), location],
      replaced: before === undefined ? replaced : [...replaced, before.block],
    }
    return { segment: segment.id, location }
  }

  /** Releases memory that was reserved and never published. */
  release(location: PlacedSegment): void {
    this.allocator.release(location)
  }

  releaseColumn({ location }: NewColumn): void {
    this.arena.free(location.block)
  }

  publish(change: ListChange): void {
    const { add = [], remove = [], deletions = [], columns = [] } = change
    const version = this.#control.version + 1
    const removed = new Set(remove)
    this.list = [...this.list.filter((segment) => !removed.has(segment)), ...add]
    for (const { data } of add) this.#count(data, 1)
    for (const { segment, document } of deletions) {
      const from = segment.data.documentFirstChunk[document]!
      const to = segment.data.documentFirstChunk[document + 1]!
      for (let chunk = from; chunk < to; chunk++) segment.deletedKeys.push(segment.data.chunkKey[chunk]!)
      segment.liveChunks -= to - from
      segment.liveDocuments -= 1
    }
    const update: ListUpdate = {
      kind: 'list',
      version,
      memories: this.#newMemories(),
      add: add.map((segment) => segment.location),
      remove: remove.map((segment) => segment.id),
      columns,
      classesFrom: this.#sentClasses,
      classes: this.#classes.list.slice(this.#sentClasses),
      profiles: [...this.#profiles],
      fileEpoch: this.fileEpoch,
    }
    for (const port of this.#readers.values()) port.postMessage(update)
    this.#sentClasses = this.#classes.list.length
    this.#control.publish({ version, chunks: this.chunks }, (generation) => {
      for (const deletion of deletions) markDocumentDeleted(deletion, generation)
    })
    // Not earlier, because a search of the previous list uses these counts as an upper bound.
    for (const { data } of remove) this.#count(data, -1)
    if (remove.length > 0) this.#retired.push({ version, locations: remove.map((segment) => segment.location) })
    this.reclaim()
  }

  /** Removes every segment, when the whole index is cleared. */
  publishEmpty(): void {
    this.#sentClasses = 0
    this.publish({ remove: this.list })
  }

  /** Frees the memory that no reader can be using. */
  reclaim(): void {
    if (this.#retired.length === 0) return
    const oldest = this.#control.oldestPinned()
    for (const { version, locations } of this.#retired)
      if (version <= oldest) for (const location of locations) this.release(location)
    this.#retired = this.#retired.filter(({ version }) => version > oldest)
  }

  #newMemories(): [number, WebAssembly.Memory][] {
    const all = [...this.arena.memories.entries()]
    const added = all.slice(this.#sentMemories)
    this.#sentMemories = all.length
    return added
  }

  #count({ terms, term, postingStart }: SegmentData, sign: 1 | -1): void {
    const { postings } = this.#dictionary
    for (let i = 0; i < terms; i++) postings[term[i]!]! += sign * (postingStart[i + 1]! - postingStart[i]!)
  }
}

function markDocumentDeleted({ segment, document }: Deletion, generation: number): void {
  const { documentFirstChunk } = segment.data
  const end = documentFirstChunk[document + 1]!
  for (let chunk = documentFirstChunk[document]!; chunk < end; chunk++) markDeleted(segment, chunk, generation)
}
