import type { DocumentColumns, PutVersion } from '../../../indexing/fed-index.ts'
import type { CatalogColumns } from '../../../search/search-index.ts'
import { type CatalogNumbers, catalogNumbersAt, numberColumns } from '../format/catalog-numbers.ts'
import type { FilterClass, FilterClasses } from '../format/filter-classes.ts'
import type { SegmentBuilder } from '../format/segment-builder.ts'
import { chunkIdAt, compareBytes, segmentChunksMax, versionIdAt } from '../format/segment-data.ts'
import { bodyTokensAt, titleTokensAt } from '../format/segment-tokens.ts'
import type { VectorColumn } from '../format/vector-column.ts'
import type { Segment } from '../memory/segment.ts'
import type { TermDictionary } from '../memory/term-dictionary.ts'
import type { EncodedField } from './encode-changes.ts'

/**
 * A document during a batch. It is read from its segment with all its versions, changed, and written as a whole into a
 * new segment. So a version is replaced in one step, all versions of a document stay in one segment, and nothing in a
 * segment ever changes except deletions and vectors.
 */
export interface UnitChunk {
  readonly id: Uint8Array
  /** 0 until the chunk is first added to a segment. */
  vectorKey: number
  readonly body: Uint32Array<ArrayBufferLike>
  readonly length: number
  /** The number of the chunk in its segment before this batch, -1 for a new chunk. */
  readonly chunk: number
  /** Vectors that come with this batch, by profile number. */
  readonly vectors: Map<number, Float32Array>
}

export interface UnitVersion {
  readonly id: Uint8Array
  readonly title: Uint32Array<ArrayBufferLike>
  readonly titleLength: number
  /** The first one is the first chunk of the text; the others are in any order. */
  readonly chunks: UnitChunk[]
  readonly language: string | null
  current: boolean
}

export interface UnitOrigin {
  readonly segment: Segment
  readonly document: number
}

const encoder = new TextEncoder()

export class DocumentUnit {
  readonly id: Uint8Array
  readonly origin: UnitOrigin | null
  readonly versions = new Map<string, UnitVersion>()
  columns: Omit<DocumentColumns, keyof CatalogColumns> | null = null
  #catalog: CatalogNumbers | null = null
  /** Whether the document must be rewritten. Vectors alone are written into the existing segment. */
  changed = false
  /** Vector keys of removed chunks. */
  readonly dropped: number[] = []

  constructor(documentId: string, origin: UnitOrigin | null, classes: readonly FilterClass[]) {
    this.id = encoder.encode(documentId)
    this.origin = origin
    if (origin !== null) this.#readOrigin(origin, classes)
  }

  put(
    change: PutVersion<EncodedField>,
    dictionary: TermDictionary,
    vectorsOf: (chunk: number) => Map<number, Float32Array>,
  ): void {
    this.retire(change.versionId)
    if (change.current) for (const version of this.versions.values()) version.current = false
    const chunks = new Map<string, UnitChunk>()
    change.chunks.forEach((chunk, i) => {
      chunks.set(chunk.chunkId, {
        id: encoder.encode(chunk.chunkId),
        vectorKey: 0,
        body: chunk.body.tokens,
        length: lengthOf(chunk.body.length),
        chunk: -1,
        vectors: vectorsOf(i),
      })
    })
    this.versions.set(change.versionId, {
      id: encoder.encode(change.versionId),
      title: change.title.tokens,
      titleLength: lengthOf(change.title.length),
      chunks: [...chunks.values()],
      language: change.columns.language,
      current: change.current,
    })
    this.columns = change.columns
    this.#catalog = numberColumns(change.columns, (value) => dictionary.add(value))
    this.changed = true
  }

  retire(versionId: string): void {
    const version = this.versions.get(versionId)
    if (version === undefined) return
    for (const chunk of version.chunks) if (chunk.vectorKey !== 0) this.dropped.push(chunk.vectorKey)
    this.versions.delete(versionId)
    this.changed = true
  }

  retireAll(): void {
    for (const versionId of [...this.versions.keys()]) this.retire(versionId)
  }

  setColumns(columns: DocumentColumns, dictionary: TermDictionary): void {
    if (this.versions.size === 0) return
    this.columns = columns
    this.#catalog = numberColumns(columns, (value) => dictionary.add(value))
    this.changed = true
  }

  findChunk(chunkId: string): UnitChunk | null {
    const id = encoder.encode(chunkId)
    for (const version of this.versions.values()) {
      for (const chunk of version.chunks) {
        if (compareBytes(chunk.id, 0, chunk.id.length, id, 0, id.length) === 0) return chunk
      }
    }
    return null
  }

  /**
   * Limits the number of chunks, because a document is never split over segments. Drops non-current versions first, the
   * lowest id first, and then the last chunks of the rest. Returns whether anything was dropped.
   */
  trim(chunksMax = segmentChunksMax): boolean {
    const count = () => [...this.versions.values()].reduce((sum, version) => sum + version.chunks.length, 0)
    if (count() <= chunksMax) return false
    for (const versionId of [...this.versions.keys()].sort()) {
      if (count() > chunksMax && !this.versions.get(versionId)!.current) this.retire(versionId)
    }
    for (const version of this.versions.values()) {
      const excess = Math.min(version.chunks.length, Math.max(0, count() - chunksMax))
      for (const chunk of version.chunks.splice(version.chunks.length - excess, excess)) {
        if (chunk.vectorKey !== 0) this.dropped.push(chunk.vectorKey)
      }
    }
    return true
  }

  get chunks(): { version: UnitVersion; chunk: UnitChunk }[] {
    return [...this.versions.values()].flatMap((version) => version.chunks.map((chunk) => ({ version, chunk })))
  }

  /** Adds the document to a segment. Calls `placed` with every chunk and its number in the segment. */
  build(
    builder: SegmentBuilder,
    classes: FilterClasses,
    nextKey: () => number,
    placed: (chunk: UnitChunk, number: number) => void,
  ): void {
    const columns = this.columns!
    builder.addDocument(this.id, columns.publishedAt ?? Number.NaN, this.#catalog!)
    const numbers = new Map<UnitVersion, number>()
    const chunks = this.chunks
    chunks.sort((a, b) => compareBytes(a.chunk.id, 0, a.chunk.id.length, b.chunk.id, 0, b.chunk.id.length))
    for (const { version, chunk } of chunks) {
      let number = numbers.get(version)
      if (number === undefined) {
        number = builder.addVersion(version.id, version.title, version.titleLength)
        numbers.set(version, number)
      }
      const key = nextKey()
      if (chunk.vectorKey === 0) chunk.vectorKey = key
      placed(chunk, builder.chunks)
      builder.addChunk({
        id: chunk.id,
        version: number,
        first: chunk === version.chunks[0],
        classNumber: classes.add({ ...columns, language: version.language }, version.current),
        key,
        vectorKey: chunk.vectorKey,
        length: chunk.length,
        body: chunk.body,
      })
    }
  }

  #readOrigin({ segment: { data }, document }: UnitOrigin, classes: readonly FilterClass[]): void {
    const published = data.documentPublished[document]!
    this.#catalog = catalogNumbersAt(data, document)
    for (let chunk = data.documentFirstChunk[document]!; chunk < data.documentFirstChunk[document + 1]!; chunk++) {
      const from = data.chunkVersion[chunk]!
      const { current, language, ...columns } = classes[data.chunkClass[chunk]!]!
      this.columns ??= { ...columns, publishedAt: Number.isNaN(published) ? null : published }
      const name = versionIdAt(data, from)
      let version = this.versions.get(name)
      if (version === undefined) {
        version = {
          id: encoder.encode(name),
          title: titleTokensAt(data, from),
          titleLength: data.titleLength[from]!,
          chunks: [],
          language,
          current,
        }
        this.versions.set(name, version)
      }
      const taken = {
        id: encoder.encode(chunkIdAt(data, chunk)),
        vectorKey: data.vectorKey[chunk]!,
        body: bodyTokensAt(data, chunk),
        length: data.chunkLength[chunk]! - data.titleLength[from]!,
        chunk,
        vectors: new Map(),
      }
      if (data.titleChunk[from] === chunk) version.chunks.unshift(taken)
      else version.chunks.push(taken)
    }
  }
}

function lengthOf(length: number): number {
  return Number.isFinite(length) ? Math.min(Math.max(0, Math.trunc(length)), 2 ** 24) : 0
}

/** Copies the coarse vectors that a chunk had in its previous segment. */
export function copyVectors(
  origin: UnitOrigin,
  chunk: UnitChunk,
  number: number,
  columnOf: (profile: number, dimensions: number) => VectorColumn,
): void {
  for (const [profile, { column }] of origin.segment.columns) {
    if (!column.has(chunk.chunk) || chunk.vectors.has(profile)) continue
    columnOf(profile, column.layout.dimensions).copyRow(number, column, chunk.chunk)
  }
}
