import type { MessagePort } from 'node:worker_threads'
import type { FilterClasses } from '../format/filter-classes.ts'
import type { MergedColumn } from '../format/merge-segments.ts'
import { openImage, type SegmentImage } from '../format/segment-image.ts'
import { columnLayout } from '../format/vector-column.ts'
import { type Arena, bytesOf } from '../memory/arena.ts'
import type { Control } from '../memory/control.ts'
import type { ListUpdate, Profile } from '../memory/published-list.ts'
import {
  type ColumnPlace,
  markDead,
  openColumn,
  openSegment,
  type Segment,
  type SegmentPlace,
} from '../memory/segment.ts'
import type { TermDictionary } from '../memory/term-dictionary.ts'
import { type PlacedSegment, SegmentRooms } from './segment-rooms.ts'

/** A segment as the writer keeps it. */
export interface WriterSegment extends Segment {
  place: SegmentPlace
  /** Sealed: one segment of the durable file. Small: put together in memory from the batches named by `rows`. */
  readonly sealed: boolean
  /** Rows of the durable file that hold what this segment holds. */
  rows: number[]
  /** False while a merged segment is being written to the file; it takes part in no other merge meanwhile. */
  durable: boolean
  /** Vectors set since the columns were written to the file, as the file's `late_vector` table has them. */
  late: number[]
  /** Keys of dead chunks that `rows` still hold, as the file's `death` table has them. */
  deadKeys: number[]
  aliveChunks: number
  aliveDocuments: number
}

/** Not yet part of its segment. */
export interface NewColumn {
  readonly segment: WriterSegment
  readonly place: ColumnPlace
}

/** Whether a vector of the chunk can be set where the segment's others are. */
export function hasRow({ columns }: Segment, { number }: Profile, chunk: number): boolean {
  const open = columns.get(number)
  return open !== undefined && open.column.rowOf(chunk) >= 0
}

export interface Death {
  readonly segment: WriterSegment
  readonly document: number
}

export interface ListChange {
  readonly add?: readonly WriterSegment[]
  readonly remove?: readonly WriterSegment[]
  readonly deaths?: readonly Death[]
  readonly columns?: ListUpdate['columns']
}

/**
 * The writer's side of what readers see: the list of segments, their memory, and how many postings a term has in them.
 * Every change is sent as one update and published as one step.
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
  /** Counts the times the vectors' file was made anew. */
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

  /** A reader that hears of every change from now on. Its first update is the whole list as it is published. */
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

  /** Those alive. */
  get chunks(): number {
    return this.list.reduce((sum, segment) => sum + segment.aliveChunks, 0)
  }

  get generation(): number {
    return this.#control.generation
  }

  /** Puts a segment into shared memory. Nobody sees it before it is published. */
  place(image: Uint8Array, columns: readonly MergedColumn[], sealed: boolean, rows: number[]): WriterSegment {
    const room = this.rooms.reserve(image.length, openImage(image).chunks)
    bytesOf(this.arena.memories, room.image).set(image)
    return this.adopt(this.rooms.complete(room, columns, sealed), sealed, rows)
  }

  /** One of the list, as soon as it is published. */
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
      deadKeys: [],
      aliveChunks: segment.image.chunks,
      aliveDocuments: segment.image.documents,
    }
  }

  /** Room for a vector of every chunk, in a segment that has none for one of them; with the vectors that it has. */
  reserveColumn(segment: WriterSegment, profile: Profile): NewColumn {
    const { memories } = this.arena
    const { chunks } = segment.image
    const block = this.rooms.allocateColumn(columnLayout(chunks, profile.dimensions))
    bytesOf(memories, block).fill(0)
    const place = { profile: profile.number, dimensions: profile.dimensions, rows: null, block }
    const before = segment.columns.get(profile.number)
    if (before !== undefined) openColumn(memories, place, chunks).column.copyRows(before.column)
    return { segment, place }
  }

  /** It belongs to the segment from now on. Readers hear of it with the next update. */
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

  /** Gives back what was taken and never published. */
  release(place: PlacedSegment): void {
    this.rooms.release(place)
  }

  releaseColumn({ place }: NewColumn): void {
    this.arena.free(place.block)
  }

  publish(change: ListChange): void {
    const { add = [], remove = [], deaths = [], columns = [] } = change
    const version = this.#control.version + 1
    const removed = new Set(remove)
    this.list = [...this.list.filter((segment) => !removed.has(segment)), ...add]
    for (const { image } of add) this.#count(image, 1)
    for (const { segment, document } of deaths) {
      const from = segment.image.documentFirstChunk[document]!
      const to = segment.image.documentFirstChunk[document + 1]!
      for (let chunk = from; chunk < to; chunk++) segment.deadKeys.push(segment.image.chunkKey[chunk]!)
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
      for (const death of deaths) bury(death, generation)
    })
    // Not before: a search of the list until now takes them for the most that there can be.
    for (const { image } of remove) this.#count(image, -1)
    if (remove.length > 0) this.#retired.push({ version, places: remove.map((segment) => segment.place) })
    this.reclaim()
  }

  /** Everything goes; only `clear` of the whole index does this. */
  publishEmpty(): void {
    this.#sentClasses = 0
    this.publish({ remove: this.list })
  }

  /** Frees the memory that no reader can still be in. */
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

  #count({ terms, term, postingStart }: SegmentImage, sign: 1 | -1): void {
    const { postings } = this.#dictionary
    for (let i = 0; i < terms; i++) postings[term[i]!]! += sign * (postingStart[i + 1]! - postingStart[i]!)
  }
}

function bury({ segment, document }: Death, generation: number): void {
  const { documentFirstChunk } = segment.image
  const end = documentFirstChunk[document + 1]!
  for (let chunk = documentFirstChunk[document]!; chunk < end; chunk++) markDead(segment, chunk, generation)
}
