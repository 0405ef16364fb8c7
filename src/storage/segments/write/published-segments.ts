import type { MessagePort } from 'node:worker_threads'
import type { FilterClasses } from '../format/filter-classes.ts'
import type { MergedColumn } from '../format/merge-segments.ts'
import { openSegmentData, type SegmentData } from '../format/segment-data.ts'
import { columnLayout } from '../format/vector-column.ts'
import { type Arena, bytesOf } from '../memory/arena.ts'
import type { Control } from '../memory/control.ts'
import {
  type ColumnPlace,
  markDeleted,
  openColumn,
  openSegment,
  type Segment,
  type SegmentPlace,
} from '../memory/segment.ts'
import type { TermDictionary } from '../memory/term-dictionary.ts'
import type { ListUpdate, Profile } from '../memory/thread-messages.ts'
import { type PlacedSegment, SegmentRooms } from './segment-rooms.ts'

/** A segment with the data of the writer. */
export interface WriterSegment extends Segment {
  place: SegmentPlace
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
  aliveChunks: number
  aliveDocuments: number
}

/** A column that does not belong to its segment yet. */
export interface NewColumn {
  readonly segment: WriterSegment
  readonly place: ColumnPlace
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
  readonly rooms: SegmentRooms
  readonly #control: Control
  readonly #dictionary: TermDictionary
  readonly #classes: FilterClasses
  readonly #profiles: readonly Profile[]
  readonly #readers = new Map<number, MessagePort>()
  #retired: { version: number; places: SegmentPlace[] }[] = []
  #sentMemories = 0
  #sentClasses = 0
  #nextId = 1
  /** Incremented whenever the file of vectors is created anew. */
  fileEpoch = 0

  constructor(
    control: Control,
    dictionary: TermDictionary,
    classes: FilterClasses,
    profiles: readonly Profile[],
    arenaBytes?: number,
  ) {
    this.rooms = new SegmentRooms(dictionary, arenaBytes)
    this.#control = control
    this.#dictionary = dictionary
    this.#classes = classes
    this.#profiles = profiles
  }

  get arena(): Arena {
    return this.rooms.arena
  }

  /** Adds a reader that receives every change from now on. Its first update is the whole published list. */
  admit(reader: number, port: MessagePort): void {
    this.#readers.get(reader)?.close()
    this.#readers.set(reader, port)
    const update: ListUpdate = {
      kind: 'list',
      version: this.#control.version,
      memories: [...this.arena.memories.entries()].slice(0, this.#sentMemories),
      add: this.list.map((segment) => segment.place),
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
    return this.list.reduce((sum, segment) => sum + segment.aliveChunks, 0)
  }

  get generation(): number {
    return this.#control.generation
  }

  /** Puts a segment into shared memory. It is invisible until it is published. */
  place(image: Uint8Array, columns: readonly MergedColumn[], sealed: boolean, rows: number[]): WriterSegment {
    const room = this.rooms.reserve(image.length, openSegmentData(image).chunks)
    bytesOf(this.arena.memories, room.image).set(image)
    return this.adopt(this.rooms.complete(room, columns, sealed), sealed, rows)
  }

  /** Makes a placed segment part of the next published list. */
  adopt(placed: PlacedSegment, sealed: boolean, rows: number[]): WriterSegment {
    const place = { id: this.#nextId++, ...placed }
    const segment = openSegment(this.arena.memories, place)
    return {
      ...segment,
      place,
      sealed,
      rows,
      durable: true,
      late: [],
      deletedKeys: [],
      aliveChunks: segment.image.chunks,
      aliveDocuments: segment.image.documents,
    }
  }

  /** Reserves a column with room for a vector of every chunk, with the vectors that the segment has so far. */
  reserveColumn(segment: WriterSegment, profile: Profile): NewColumn {
    const { memories } = this.arena
    const { chunks } = segment.image
    const block = this.rooms.arena.allocate(columnLayout(chunks, profile.dimensions).total)
    bytesOf(memories, block).fill(0)
    const place = { profile: profile.number, dimensions: profile.dimensions, rows: null, block }
    const before = segment.columns.get(profile.number)
    if (before !== undefined) openColumn(memories, place, chunks).column.copyRows(before.column)
    return { segment, place }
  }

  /** Adds the column to its segment. Readers receive it with the next update. */
  attachColumn({ segment, place }: NewColumn): ListUpdate['columns'][number] {
    const before = segment.columns.get(place.profile)?.place
    const { columns, replaced } = segment.place
    segment.columns.set(place.profile, openColumn(this.arena.memories, place, segment.image.chunks))
    segment.place = {
      ...segment.place,
      columns: [...columns.filter((column) => column !== before), place],
      replaced: before === undefined ? replaced : [...replaced, before.block],
    }
    return { segment: segment.id, place }
  }

  /** Releases memory that was reserved and never published. */
  release(place: PlacedSegment): void {
    this.rooms.release(place)
  }

  releaseColumn({ place }: NewColumn): void {
    this.arena.free(place.block)
  }

  publish(change: ListChange): void {
    const { add = [], remove = [], deletions = [], columns = [] } = change
    const version = this.#control.version + 1
    const removed = new Set(remove)
    this.list = [...this.list.filter((segment) => !removed.has(segment)), ...add]
    for (const { image } of add) this.#count(image, 1)
    for (const { segment, document } of deletions) {
      const from = segment.image.documentFirstChunk[document]!
      const to = segment.image.documentFirstChunk[document + 1]!
      for (let chunk = from; chunk < to; chunk++) segment.deletedKeys.push(segment.image.chunkKey[chunk]!)
      segment.aliveChunks -= to - from
      segment.aliveDocuments -= 1
    }
    const update: ListUpdate = {
      kind: 'list',
      version,
      memories: this.#newMemories(),
      add: add.map((segment) => segment.place),
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
      for (const deletion of deletions) bury(deletion, generation)
    })
    // Not earlier: a search of the previous list uses these counts as an upper bound.
    for (const { image } of remove) this.#count(image, -1)
    if (remove.length > 0) this.#retired.push({ version, places: remove.map((segment) => segment.place) })
    this.reclaim()
  }

  /** Removes everything; only `clear` of the whole index does this. */
  publishEmpty(): void {
    this.#sentClasses = 0
    this.publish({ remove: this.list })
  }

  /** Frees the memory that no reader can be using. */
  reclaim(): void {
    if (this.#retired.length === 0) return
    const oldest = this.#control.oldestPinned()
    for (const { version, places } of this.#retired)
      if (version <= oldest) for (const place of places) this.release(place)
    this.#retired = this.#retired.filter(({ version }) => version > oldest)
  }

  #newMemories(): [number, WebAssembly.Memory][] {
    const all = [...this.arena.memories.entries()]
    const fresh = all.slice(this.#sentMemories)
    this.#sentMemories = all.length
    return fresh
  }

  #count({ terms, term, postingStart }: SegmentData, sign: 1 | -1): void {
    const { postings } = this.#dictionary
    for (let i = 0; i < terms; i++) postings[term[i]!]! += sign * (postingStart[i + 1]! - postingStart[i]!)
  }
}

function bury({ segment, document }: Deletion, generation: number): void {
  const { documentFirstChunk } = segment.image
  const end = documentFirstChunk[document + 1]!
  for (let chunk = documentFirstChunk[document]!; chunk < end; chunk++) markDeleted(segment, chunk, generation)
}
