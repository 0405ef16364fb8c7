import { rmSync } from 'node:fs'
import type { MessagePort } from 'node:worker_threads'
import type { ApplyOutcome, IndexBatch, IndexChange } from '../../../indexing/fed-index.ts'
import type { ChunkVector } from '../../../search/search-index.ts'
import { isDamage, isMachineTrouble } from '../../full-disk.ts'
import { DamagedFile, vectorDamage } from '../file/damage.ts'
import { DurableFile, type SegmentRow, vectorId } from '../file/durable-file.ts'
import { FilterClasses } from '../format/filter-classes.ts'
import type { MergedColumn } from '../format/merge-segments.ts'
import { SegmentBuilder, TermScratch } from '../format/segment-builder.ts'
import { compareBytes, findDocument, segmentChunksMax } from '../format/segment-data.ts'
import { columnLayout, dimensionsMax, usableVector, VectorColumn } from '../format/vector-column.ts'
import { Control } from '../memory/control.ts'
import { countVectorSet, neverDeleted } from '../memory/segment.ts'
import { TermDictionary } from '../memory/term-dictionary.ts'
import type { Profile, SuspectVectors } from '../memory/thread-messages.ts'
import { copyVectors, DocumentUnit, type UnitChunk } from './document-unit.ts'
import { type EncodedField, encodeChanges } from './encode-changes.ts'
import { loadIndex } from './load-index.ts'
import { Maintenance } from './maintenance.ts'
import { hasRow, type NewColumn, PublishedSegments, type WriterSegment } from './published-segments.ts'
import { Purge } from './purge.ts'
import { reportHealth, type SegmentsHealth } from './report-health.ts'
import type { MergeResult, WriterOptions } from './writer-calls.ts'

/** Chunk keys have 32 bits. */
const keysMax = 2 ** 32 - 1

interface Placement {
  readonly unit: DocumentUnit
  readonly chunk: UnitChunk
  readonly number: number
}

/** A segment of a batch that is built in memory, and neither in the file nor visible yet. */
interface NewSegment {
  readonly data: Uint8Array
  readonly segment: WriterSegment
  readonly placements: readonly Placement[]
}

/**
 * Changes the index, and runs in the only thread that does. A batch goes through four steps: collect the documents that
 * it changes, build a small segment of them, commit that with everything else to the file, publish it to the readers. A
 * failure before the commit leaves no trace; after it the batch is durable, and a restart shows it.
 */
export class IndexWriter {
  readonly #options: WriterOptions
  readonly #dictionary: TermDictionary
  readonly #classes = new FilterClasses()
  readonly #profiles: Profile[] = []
  readonly #published: PublishedSegments
  readonly #scratch = new TermScratch()
  readonly #rows = new Map<number, SegmentRow>()
  readonly #warnings = new Set<string>()
  readonly #maintenance: Maintenance
  #file: DurableFile | null = null
  #purge: Purge | null = null
  #damage = ''
  /** The numbers of terms, classes and profiles that the file has. */
  #savedTerms = 1
  #savedClasses = 0
  #savedProfiles = 0

  constructor(options: WriterOptions) {
    this.#options = options
    this.#dictionary = new TermDictionary(options.shared.dictionary)
    const control = new Control(options.shared.control)
    this.#published = new PublishedSegments(
      control,
      this.#dictionary,
      this.#classes,
      this.#profiles,
      options.arenaBytes,
    )
    this.#maintenance = new Maintenance({
      options,
      control,
      published: this.#published,
      rows: this.#rows,
      scratch: this.#scratch,
      profiles: this.#profiles,
    })
    this.#open()
  }

  apply(batch: IndexBatch): ApplyOutcome {
    try {
      return this.#apply(batch)
    } catch (error) {
      return { outcome: 'unavailable', reason: this.#damageBy(error) }
    }
  }

  #apply(batch: IndexBatch): ApplyOutcome {
    const file = this.#file
    if (file === null) return { outcome: 'unavailable', reason: this.#damage }
    if (batch.position !== null && batch.position <= file.state.position) return { outcome: 'applied' }
    const units = this.#collect(encodeChanges(batch.changes, this.#dictionary))
    const changed = units.filter((unit) => unit.changed)
    for (const unit of changed)
      if (unit.trim())
        this.#warnings.add('a document has more chunks than fit into a segment: the excess is not indexed')
    if (file.state.nextKey + changed.reduce((sum, unit) => sum + unit.chunks.length, 0) > keysMax) {
      return { outcome: 'unavailable', reason: 'all chunk keys are used up: the index must be rebuilt' }
    }
    // Allocates all memory for the batch before anything is written to the file.
    const built: NewSegment[] = []
    const columns: NewColumn[] = []
    try {
      this.#build(file, changed, built)
      for (const unit of units) if (!unit.changed) this.#reserveColumns(unit, columns)
      this.#commit(file, batch.position, units, built)
    } catch (error) {
      for (const { segment } of built) this.#published.release(segment.location)
      for (const column of columns) this.#published.releaseColumn(column)
      throw error
    }
    this.#publish(units, built, columns)
    if (this.#dictionary.full) this.#warnings.add('the term dictionary is full: new words and values are not indexed')
    return { outcome: 'applied' }
  }

  /**
   * Runs one step of background work; returns false if there is none. Called between batches. Throws if the file cannot
   * be written.
   */
  backgroundStep(): boolean {
    if (this.#file === null) return false
    try {
      return this.#maintenance.step(this.#file) || (this.#purge?.step(this.#file) ?? false)
    } catch (error) {
      this.#damageBy(error)
      throw error
    }
  }

  /**
   * Returns the damage that these vectors show: empty if their chunks were deleted, or the vectors are there by now.
   */
  checkVectors({ profile, vectorKeys }: SuspectVectors): string {
    const keys = new Set(vectorKeys)
    try {
      for (const { data, deletedAt, columns } of this.#published.list) {
        const column = columns.get(profile)?.column
        for (let chunk = 0; column !== undefined && chunk < data.chunks; chunk++) {
          const key = data.vectorKey[chunk]!
          if (!keys.has(key) || deletedAt[chunk] !== neverDeleted || !column.has(chunk)) continue
          if (this.#file?.readVector(vectorId(profile, key)) === null) throw new DamagedFile(vectorDamage)
        }
      }
    } catch (error) {
      return this.#damageBy(error)
    }
    return this.#damage
  }

  /**
   * Handles an inconsistency of the file: the index needs a rebuild. The memory stays until the index is cleared,
   * because a merge may be reading it. Rethrows other errors.
   */
  #damageBy(error: unknown): string {
    if (!(error instanceof DamagedFile || isDamage(error))) throw error
    this.#damage = error instanceof Error ? error.message : String(error)
    this.#file?.close()
    this.#file = null
    return this.#damage
  }

  /** Resolves when no trace is left of data that was retired before the call. `backgroundStep` does the work. */
  async purge(): Promise<void> {
    const { position } = this.#file?.state ?? {}
    if (position === undefined) throw new Error(`the index cannot be purged: ${this.#damage}`)
    // This purge also does what an earlier one has left.
    const earlier = this.#purge
    const purge = new Purge({
      published: this.#published,
      dictionary: this.#dictionary,
      maintenance: this.#maintenance,
      position,
    })
    this.#purge = purge
    await purge.done
    earlier?.end()
    if (this.#purge === purge) this.#purge = null
  }

  /** Why background work failed; null when it has worked again. Health reports it. */
  failing: string | null = null

  /** Adds a search thread, which may replace one that ended. It receives the whole list, and then every change. */
  addReader(reader: number, port: MessagePort): void {
    this.#published.addReader(reader, port)
  }

  merged(result: MergeResult): void {
    this.#maintenance.install(result)
  }

  health(): SegmentsHealth {
    return reportHealth({
      file: this.#file,
      damage: this.#damage,
      published: this.#published,
      dictionary: this.#dictionary,
      profiles: this.#profiles,
      merging: this.#maintenance.busy,
      warnings: this.failing === null ? [...this.#warnings] : [...this.#warnings, this.failing],
    })
  }

  checkpoint(): void {
    if (this.#file === null) return
    this.#maintenance.finish(this.#file)
    this.#file.checkpoint()
  }

  /** Must not be called while a merge is in progress (`merging`). */
  clear(): void {
    this.#file?.close()
    this.#file = null
    for (const end of ['', '-wal', '-shm']) rmSync(this.#options.path + end, { force: true })
    this.#empty()
    this.#open()
  }

  get merging(): boolean {
    return this.#maintenance.merging
  }

  close(): void {
    this.#file?.close()
    this.#file = null
    this.#damage = 'the index is closed'
  }

  #open(): void {
    this.#damage = ''
    try {
      const { path, analysis, lockWaitMs } = this.#options
      this.#file = new DurableFile(path, analysis, lockWaitMs)
      loadIndex(this.#file, {
        dictionary: this.#dictionary,
        classes: this.#classes,
        profiles: this.#profiles,
        published: this.#published,
        rows: this.#rows,
        scratch: this.#scratch,
        options: this.#options,
      })
      this.#savedTerms = this.#dictionary.size
      this.#savedClasses = this.#classes.list.length
      this.#savedProfiles = this.#profiles.length
    } catch (error) {
      this.#file?.close()
      this.#file = null
      this.#damage = error instanceof Error ? error.message : String(error)
      if (!(error instanceof DamagedFile)) this.#damage = `unreadable: ${this.#damage}`
      this.#empty()
      // A file that may be intact must not be replaced.
      if (isMachineTrouble(error, this.#options.path)) throw error
    }
  }

  #empty(): void {
    this.#purge?.end()
    this.#purge = null
    this.#maintenance.reset()
    this.#rows.clear()
    this.#profiles.length = 0
    this.#classes.clear()
    this.#published.fileEpoch++
    this.#published.publishEmpty()
    this.#dictionary.clear()
    this.#savedTerms = 1
    this.#savedClasses = 0
    this.#savedProfiles = 0
  }

  #collect(changes: readonly IndexChange<EncodedField>[]): DocumentUnit[] {
    const units = new Map<string, DocumentUnit>()
    for (const change of changes) {
      let unit = units.get(change.documentId)
      if (unit === undefined) {
        unit = new DocumentUnit(change.documentId, this.#find(change.documentId), this.#classes.list)
        units.set(change.documentId, unit)
      }
      switch (change.kind) {
        case 'put_version':
          unit.put(change, this.#dictionary, (i) => this.#usable(change.chunks[i]!.vectors))
          break
        case 'retire_version':
          unit.retire(change.versionId)
          break
        case 'retire_document':
          unit.retireAll()
          break
        case 'set_columns':
          unit.setColumns(change.columns, this.#dictionary)
          break
        case 'set_vector': {
          const chunk = unit.findChunk(change.chunkId)
          if (chunk === null) break
          for (const [profile, floats] of this.#usable([change])) chunk.vectors.set(profile, floats)
          break
        }
      }
    }
    return [...units.values()]
  }

  #find(documentId: string): { segment: WriterSegment; document: number } | null {
    const id = new TextEncoder().encode(documentId)
    for (const segment of this.#published.list) {
      const document = findDocument(segment.data, id)
      if (document >= 0 && segment.deletedAt[segment.data.documentFirstChunk[document]!] === neverDeleted)
        return { segment, document }
    }
    return null
  }

  #usable(vectors: readonly ChunkVector[]): Map<number, Float32Array> {
    const usable = new Map<number, Float32Array>()
    for (const { profileId, vector } of vectors) {
      const known = this.#profiles.find((profile) => profile.profileId === profileId)
      const floats = vector.length > dimensionsMax ? null : usableVector(vector, known?.dimensions ?? null)
      if (floats !== null) usable.set((known ?? this.#addProfile(profileId, floats.length)).number, floats)
    }
    return usable
  }

  #addProfile(profileId: string, dimensions: number): Profile {
    const profile = { number: this.#profiles.length + 1, profileId, dimensions }
    this.#profiles.push(profile)
    return profile
  }

  /** Builds one segment, or more if the batch has more chunks than fit into one. */
  #build(file: DurableFile, changed: readonly DocumentUnit[], built: NewSegment[]): void {
    const units = changed.filter((unit) => unit.chunks.length > 0)
    units.sort((a, b) => compareBytes(a.id, 0, a.id.length, b.id, 0, b.id.length))
    for (let i = 0; i < units.length; ) {
      const builder = new SegmentBuilder(this.#scratch)
      const placements: Placement[] = []
      while (i < units.length && builder.chunks + units[i]!.chunks.length <= segmentChunksMax) {
        const unit = units[i++]!
        const nextKey = () => file.state.nextKey++
        unit.build(builder, this.#classes, nextKey, (chunk, number) => placements.push({ unit, chunk, number }))
      }
      const data = builder.finish()
      const columns = this.#buildColumns(placements, builder.chunks)
      built.push({ data, segment: this.#published.place(data, columns, false, []), placements })
    }
  }

  /** Reserves columns for late vectors that have no row in their segment yet. */
  #reserveColumns({ origin, chunks }: DocumentUnit, columns: NewColumn[]): void {
    if (origin === null) return
    const segment = origin.segment as WriterSegment
    for (const { chunk } of chunks) {
      for (const number of chunk.vectors.keys()) {
        const reserved = columns.some((one) => one.segment === segment && one.location.profile === number)
        const profile = this.#profile(number)
        if (!reserved && !hasRow(segment, profile, chunk.chunk)) {
          columns.push(this.#published.reserveColumn(segment, profile))
        }
      }
    }
  }

  #profile(number: number): Profile {
    return this.#profiles.find((known) => known.number === number)!
  }

  #buildColumns(placements: readonly Placement[], chunks: number): MergedColumn[] {
    const columns = new Map<number, VectorColumn>()
    const columnOf = (profile: number, dimensions: number): VectorColumn => {
      const layout = columnLayout(chunks, dimensions)
      const column = columns.get(profile) ?? new VectorColumn(layout, new Uint8Array(layout.total))
      columns.set(profile, column)
      return column
    }
    for (const { unit, chunk, number } of placements) {
      if (unit.origin !== null && chunk.chunk >= 0) copyVectors(unit.origin, chunk, number, columnOf)
      for (const [profile, floats] of chunk.vectors) columnOf(profile, floats.length).set(number, floats)
    }
    return [...columns].map(([profile, { layout, raw }]) => ({
      profile,
      dimensions: layout.dimensions,
      raw: raw as Uint8Array<ArrayBuffer>,
    }))
  }

  #commit(
    file: DurableFile,
    position: number | null,
    units: readonly DocumentUnit[],
    built: readonly NewSegment[],
  ): void {
    const { size } = this.#dictionary
    const rows: SegmentRow[] = []
    file.transaction(() => {
      if (size > this.#savedTerms) {
        file.addTerms(this.#savedTerms, size - this.#savedTerms, this.#dictionary.pack(this.#savedTerms))
      }
      this.#classes.list.slice(this.#savedClasses).forEach((filterClass, i) => {
        file.putJson('class', this.#savedClasses + i, filterClass)
      })
      for (const profile of this.#profiles.slice(this.#savedProfiles)) file.putJson('profile', profile.number, profile)
      for (const { data, segment } of built) {
        const row = {
          id: file.state.nextSegment++,
          sealed: false,
          chunks: segment.data.chunks,
          image: { blob: file.newBlob(), bytes: data.length },
          columns: [],
        }
        for (const _ of file.writeBlob(row.image.blob, data));
        file.putJson('segment', row.id, row)
        rows.push(row)
        for (const [profile, { column }] of segment.columns) {
          segment.data.chunkKey.forEach((key, chunk) => {
            if (column.has(chunk)) file.addNumber('late_vector', vectorId(profile, key))
          })
        }
      }
      for (const unit of units) this.#commitUnit(file, unit)
      if (position !== null) file.state.position = position
    })
    this.#savedTerms = size
    this.#savedClasses = this.#classes.list.length
    this.#savedProfiles = this.#profiles.length
    rows.forEach((row, i) => {
      this.#rows.set(row.id, row)
      built[i]!.segment.rows.push(row.id)
    })
  }

  #commitUnit(file: DurableFile, unit: DocumentUnit): void {
    if (unit.changed && unit.origin !== null) {
      const { data } = unit.origin.segment
      const { document } = unit.origin
      for (let chunk = data.documentFirstChunk[document]!; chunk < data.documentFirstChunk[document + 1]!; chunk++) {
        file.addNumber('death', data.chunkKey[chunk]!)
      }
    }
    for (const vectorKey of unit.dropped) {
      for (const { number } of this.#profiles) file.removeVector(vectorId(number, vectorKey))
    }
    for (const { chunk } of unit.chunks) {
      for (const [profile, floats] of chunk.vectors) {
        file.putVector(vectorId(profile, chunk.vectorKey), floats)
        if (!unit.changed && unit.origin !== null) {
          file.addNumber('late_vector', vectorId(profile, unit.origin.segment.data.chunkKey[chunk.chunk]!))
        }
      }
    }
  }

  #publish(units: readonly DocumentUnit[], built: readonly NewSegment[], newColumns: readonly NewColumn[]): void {
    const segments = built.map(({ segment }) => segment)
    for (const segment of segments) {
      for (const [profile, { column }] of segment.columns) {
        segment.data.chunkKey.forEach((key, chunk) => {
          if (column.has(chunk)) segment.late.push(vectorId(profile, key))
        })
      }
    }
    const columns = newColumns.map((column) => this.#published.attachColumn(column))
    for (const unit of units) if (!unit.changed) this.#setVectors(unit)
    const deletions = units.flatMap(({ changed, origin }) =>
      changed && origin !== null ? [{ segment: origin.segment as WriterSegment, document: origin.document }] : [],
    )
    if (segments.length + columns.length + deletions.length > 0) {
      this.#published.publish({ add: segments, deletions, columns })
    }
  }

  /** Writes late vectors to the existing segment of their chunk. */
  #setVectors(unit: DocumentUnit): void {
    if (unit.origin === null) return
    const segment = unit.origin.segment as WriterSegment
    for (const { chunk } of unit.chunks) {
      for (const [number, floats] of chunk.vectors) {
        segment.columns.get(number)!.column.set(chunk.chunk, floats)
        countVectorSet(segment)
        segment.late.push(vectorId(number, segment.data.chunkKey[chunk.chunk]!))
        this.#maintenance.recordVector(segment, chunk.chunk, this.#profile(number))
      }
    }
  }
}
