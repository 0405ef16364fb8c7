import type { MessagePort } from 'node:worker_threads'
import { Arena, type Block, bytesOf } from './arena.ts'
import type { Control } from './control.ts'
import type { FilterClasses } from './filter-classes.ts'
import type { MergedColumn } from './merge-segments.ts'
import type { ListUpdate, Profile } from './protocol.ts'
import { alive, openColumn, openSegment, type Segment, type SegmentPlace } from './segment.ts'
import { openImage, type SegmentImage } from './segment-image.ts'
import type { TermDictionary } from './term-dictionary.ts'
import { longStep, stepShift, termMask } from './token-stream.ts'
import { columnLayout } from './vector-column.ts'

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

type SegmentRoom = Pick<SegmentPlace, 'image' | 'died'>

export interface Death {
  readonly segment: WriterSegment
  readonly document: number
}

export interface ListChange {
  readonly add?: readonly WriterSegment[]
  readonly remove?: readonly WriterSegment[]
  readonly deaths?: readonly Death[]
  /** Segments whose chunks are new to the statistics; merged ones are not. */
  readonly counted?: readonly WriterSegment[]
  readonly columns?: ListUpdate['columns']
}

/**
 * The writer's side of what readers see: the list of segments, their memory, and the statistics that go with them.
 * Every change is sent as one update and published as one step.
 */
export class PublishedSegments {
  list: WriterSegment[] = []
  chunks = 0
  totalLength = 0
  readonly arena = new Arena()
  readonly #control: Control
  readonly #dictionary: TermDictionary
  readonly #classes: FilterClasses
  readonly #profiles: readonly Profile[]
  readonly #readers = new Map<number, MessagePort>()
  #retired: { version: number; blocks: Block[] }[] = []
  #sentMemories = 0
  #sentClasses = 0
  #nextId = 1
  /** Counts the times the vectors' file was made anew. */
  fileEpoch = 0

  constructor(control: Control, dictionary: TermDictionary, classes: FilterClasses, profiles: readonly Profile[]) {
    this.#control = control
    this.#dictionary = dictionary
    this.#classes = classes
    this.#profiles = profiles
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

  get generation(): number {
    return this.#control.generation
  }

  /** Puts a segment into shared memory. Nobody sees it before it is published. */
  place(image: Uint8Array, columns: readonly MergedColumn[], sealed: boolean, rows: number[]): WriterSegment {
    const room = this.reserve(image.length, openImage(image).chunks)
    bytesOf(this.arena.memories, room.image).set(image)
    return this.adopt(room, columns, sealed, rows)
  }

  /** Room for an image, and beside it for the deaths of its chunks: the kernel sees one arena at a time. */
  reserve(imageBytes: number, chunks: number): SegmentRoom {
    const diedAt = Math.ceil(imageBytes / 64) * 64
    const diedBytes = (chunks + 1) * 4
    const { arena, offset } = this.arena.allocate(diedAt + diedBytes)
    return {
      image: { arena, offset, bytes: imageBytes },
      died: { arena, offset: offset + diedAt, bytes: diedBytes },
    }
  }

  /** A segment of an image that is in its room already. */
  adopt(room: SegmentRoom, columns: readonly MergedColumn[], sealed: boolean, rows: number[]): WriterSegment {
    const { memories } = this.arena
    const columnPlaces = columns.map(({ profile, dimensions, raw }) => {
      const block = this.arena.allocate(raw.length)
      bytesOf(memories, block).set(raw)
      return { profile, dimensions, block }
    })
    const place = { id: this.#nextId++, ...room, columns: columnPlaces }
    const segment = openSegment(memories, place)
    segment.died.fill(alive)
    segment.died[segment.image.chunks] = 0
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

  /** Room for a profile's vectors in a segment that had none of it. Readers hear of it with the next update. */
  addColumn(segment: WriterSegment, profile: Profile): ListUpdate['columns'][number] {
    const { total } = columnLayout(segment.image.chunks, profile.dimensions)
    const block = this.arena.allocate(total)
    bytesOf(this.arena.memories, block).fill(0)
    const place = { profile: profile.number, dimensions: profile.dimensions, block }
    segment.columns.set(profile.number, openColumn(this.arena.memories, place, segment.image.chunks))
    segment.place = { ...segment.place, columns: [...segment.place.columns, place] }
    return { segment: segment.id, place }
  }

  /** Gives back what `place` took, for a segment that was never published. */
  discard(segment: WriterSegment): void {
    for (const block of blocksOf(segment)) this.arena.free(block)
  }

  publish(change: ListChange): void {
    const { add = [], remove = [], deaths = [], counted = [], columns = [] } = change
    const version = this.#control.version + 1
    const removed = new Set(remove)
    this.list = [...this.list.filter((segment) => !removed.has(segment)), ...add]
    for (const { image } of counted) {
      this.chunks += image.chunks
      for (let chunk = 0; chunk < image.chunks; chunk++) this.totalLength += image.chunkLength[chunk]!
    }
    for (const { segment, document } of deaths) {
      const from = segment.image.documentFirstChunk[document]!
      const to = segment.image.documentFirstChunk[document + 1]!
      for (let chunk = from; chunk < to; chunk++) {
        this.totalLength -= segment.image.chunkLength[chunk]!
        segment.deadKeys.push(segment.image.chunkKey[chunk]!)
      }
      this.chunks -= to - from
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
    this.#control.publish({ version, chunks: this.chunks, totalLength: this.totalLength }, (generation) => {
      for (const death of deaths) this.#bury(death, generation)
      for (const { image } of counted) this.#count(image)
    })
    if (remove.length > 0) this.#retired.push({ version, blocks: remove.flatMap(blocksOf) })
    this.reclaim()
  }

  /** Everything goes; only `clear` of the whole index does this. */
  publishEmpty(): void {
    this.#sentClasses = 0
    this.chunks = 0
    this.totalLength = 0
    this.publish({ remove: this.list })
  }

  /** Frees the memory that no reader can still be in. */
  reclaim(): void {
    if (this.#retired.length === 0) return
    const oldest = this.#control.oldestPinned()
    for (const { version, blocks } of this.#retired)
      if (version <= oldest) for (const block of blocks) this.arena.free(block)
    this.#retired = this.#retired.filter(({ version }) => version > oldest)
  }

  #newMemories(): [number, WebAssembly.Memory][] {
    const all = [...this.arena.memories.entries()]
    const fresh = all.slice(this.#sentMemories)
    this.#sentMemories = all.length
    return fresh
  }

  /** Adds a segment's chunks to the term counts. */
  #count(image: SegmentImage): void {
    const { counts } = this.#dictionary
    for (let i = 0; i < image.terms; i++) {
      counts[image.term[i]!]! += image.postingStart[i + 1]! - image.postingStart[i]!
    }
  }

  #bury({ segment: { image, died }, document }: Death, generation: number): void {
    const { counts } = this.#dictionary
    for (let chunk = image.documentFirstChunk[document]!; chunk < image.documentFirstChunk[document + 1]!; chunk++) {
      died[chunk] = generation
      died[image.chunks]! += 1
      for (const term of termsOf(image, chunk)) counts[term]! -= 1
    }
  }
}

function termsOf(image: SegmentImage, chunk: number): Set<number> {
  const terms = new Set<number>()
  const collect = (tokens: Uint32Array<ArrayBufferLike>, from: number, to: number) => {
    for (let i = from; i < to; i++) {
      const word = tokens[i]!
      if (word >>> stepShift === longStep) i++
      terms.add(word & termMask)
    }
  }
  const version = image.chunkVersion[chunk]!
  collect(image.titleTokens, image.titleStart[version]!, image.titleStart[version + 1]!)
  collect(image.bodyTokens, image.bodyStart[chunk]!, image.bodyStart[chunk + 1]!)
  return terms
}

function blocksOf({ place }: WriterSegment): Block[] {
  const { image, died } = place
  const whole = { arena: image.arena, offset: image.offset, bytes: died.offset + died.bytes - image.offset }
  return [whole, ...place.columns.map((column) => column.block)]
}
