import type { DurableFile, SegmentRow } from '../file/durable-file.ts'
import {
  type MergedColumn,
  type MergedSegment,
  type MergeSource,
  mergeSegments,
  removedChunk,
} from '../format/merge-segments.ts'
import type { TermScratch } from '../format/segment-builder.ts'
import { openSegmentData } from '../format/segment-data.ts'
import { columnLayout, withEveryRow } from '../format/vector-column.ts'
import type { Control } from '../memory/control.ts'
import { type ColumnLocation, columnsOf, markDeleted, neverDeleted } from '../memory/segment.ts'
import type { Profile } from '../memory/thread-messages.ts'
import { chooseMerge, joinedYoungest } from './merge-policy.ts'
import { hasRow, type PublishedSegments, type WriterSegment } from './published-segments.ts'
import type { MergeResult, WriterOptions } from './writer-calls.ts'

/** This many batches in rows of their own are sealed, regardless of the number of their chunks. */
const smallRowsMax = 2048
/**
 * A segment's columns are rewritten when it has more late vectors than this number, and than this share of its chunks.
 */
const lateMin = 1024
const lateShare = 0.25

interface RunningMerge {
  readonly sources: readonly WriterSegment[]
  /** Deleted chunks that the merge drops, and late vectors that it includes. */
  readonly deletedKeys: readonly number[]
  readonly late: readonly number[]
  /** Vectors that were set during the merge. */
  readonly newVectors: { segment: WriterSegment; chunk: number; profile: Profile }[]
}

interface MaintenanceParts {
  readonly options: Pick<
    WriterOptions,
    'startMerge' | 'sealChunks' | 'segmentChunks' | 'mergeMemoryBytes' | 'mergeFanIn'
  >
  readonly control: Control
  readonly published: PublishedSegments
  readonly rows: Map<number, SegmentRow>
  readonly scratch: TermScratch
  readonly profiles: readonly Profile[]
}

/**
 * Keeps the number of segments small and the file up to date, one short step at a time between batches:
 *
 *   batch -> small segment (memory), one row (file)
 *   small + small -> small, in memory only, so that a search visits a handful
 *   all small, from `sealChunks` on -> one sealed segment, and one row instead of many
 *   several sealed -> one larger, made by the merge thread; visible when it is ready, and in the file some steps later
 *
 * Chunks keep their keys throughout, so a deletion recorded by key applies to the old rows and to the new one,
 * whichever of them the file has after a crash.
 */
export class Maintenance {
  readonly #parts: MaintenanceParts
  #merge: RunningMerge | null = null
  /** The writes that bring the file up to date with the memory, and those of them in progress. */
  #pending: ((file: DurableFile) => Generator<void>) | null = null
  #writing: Generator<void> | null = null

  constructor(parts: MaintenanceParts) {
    this.#parts = parts
  }

  get merging(): boolean {
    return this.#merge !== null
  }

  get busy(): boolean {
    return this.#merge !== null || this.#pending !== null
  }

  reset(): void {
    this.#merge = null
    this.#writing = null
    this.#pending = null
  }

  recordVector(segment: WriterSegment, chunk: number, profile: Profile): void {
    if (this.#merge?.sources.includes(segment)) this.#merge.newVectors.push({ segment, chunk, profile })
  }

  /** Runs one step; returns false if there is nothing to do now. */
  step(file: DurableFile): boolean {
    this.#parts.published.reclaim()
    if (this.#sealIfDue(file) || this.#joinSmall()) return true
    if (this.#pending !== null) {
      this.#write(file)
      return true
    }
    if (this.#merge === null) this.#startMerge()
    if (this.#merge === null) this.#startColumnRewrite()
    return this.#pending !== null
  }

  /** Runs one step of the pending writes. If a step fails (such as by a full disk), all of them are repeated. */
  #write(file: DurableFile): void {
    try {
      this.#writing ??= this.#pending!(file)
      if (!this.#writing.next().done) return
      this.#pending = null
      this.#writing = null
    } catch (error) {
      this.#writing = null
      throw error
    }
  }

  /** Does everything that does not need the merge thread. */
  finish(file: DurableFile): void {
    const drain = () => {
      while (this.#pending !== null) this.#write(file)
    }
    drain()
    if (this.#small.length > 0) this.#seal(file)
    for (const segment of this.#parts.published.list) {
      if (segment.late.length === 0 || !segment.durable || this.#merge?.sources.includes(segment)) continue
      this.#pending = (open) => this.#rewriteColumns(open, segment)
      drain()
    }
  }

  /** Writes the small segments in memory to the file as sealed segments, without deleted chunks. */
  seal(file: DurableFile): void {
    if (this.#small.length > 0) this.#seal(file)
  }

  /** The merge thread rewrites the segment without its deleted chunks. Only while nothing else is in progress. */
  rewrite(segment: WriterSegment): void {
    this.#merging([segment])
  }

  get #small(): WriterSegment[] {
    return this.#parts.published.list.filter((segment) => !segment.sealed)
  }

  #sealIfDue(file: DurableFile): boolean {
    const chunks = this.#small.reduce((sum, segment) => sum + segment.liveChunks, 0)
    const rows = this.#small.reduce((sum, segment) => sum + segment.rows.length, 0)
    if (chunks < this.#parts.options.sealChunks && rows < smallRowsMax) return false
    this.#seal(file)
    return true
  }

  #seal(file: DurableFile): void {
    const groups: WriterSegment[][] = []
    let chunks = Infinity
    for (const segment of this.#small) {
      chunks += segment.liveChunks
      if (chunks > this.#parts.options.segmentChunks) {
        groups.push([])
        chunks = segment.liveChunks
      }
      groups.at(-1)!.push(segment)
    }
    for (const group of groups) this.#sealGroup(file, group)
  }

  #sealGroup(file: DurableFile, group: readonly WriterSegment[]): void {
    const { published, rows, scratch } = this.#parts
    const merged = mergeSegments(group.map(asSource), scratch)
    const anyLeft = group.some((segment) => segment.liveChunks > 0)
    const row = anyLeft ? newRow(file, merged.data, merged.columns) : null
    // Memory is allocated first, because nothing may fail once the file has the new row.
    const add = row === null ? [] : [published.place(merged.data, merged.columns, true, [row.id])]
    const replaced = group.flatMap((segment) => segment.rows)
    try {
      file.transaction(() => {
        if (row !== null) {
          for (const { blob, bytes } of blobsOf(row, merged.data, merged.columns))
            for (const _ of file.writeBlob(blob, bytes));
          file.putJson('segment', row.id, row)
        }
        for (const id of replaced) removeRow(file, rows.get(id)!)
        for (const { deletedKeys, late } of group) removeNumbers(file, deletedKeys, late)
      })
    } catch (error) {
      for (const { location } of add) published.release(location)
      throw error
    }
    for (const id of replaced) rows.delete(id)
    if (row !== null) rows.set(row.id, row)
    published.publish({ add, remove: group })
  }

  #joinSmall(): boolean {
    const { published, scratch, options } = this.#parts
    const small = this.#small
    const joined = joinedYoungest(
      small.map(({ liveChunks }) => liveChunks),
      options.segmentChunks,
      options.sealChunks,
    )
    if (joined === 0) return false
    const sources = small.slice(-joined)
    const merged = mergeSegments(sources.map(asSource), scratch)
    const rows = sources.flatMap((source) => source.rows)
    const segment = published.place(merged.data, merged.columns, false, rows)
    segment.late = sources.flatMap((source) => source.late)
    segment.deletedKeys = sources.flatMap((source) => source.deletedKeys)
    published.publish({ add: [segment], remove: sources })
    return true
  }

  #startMerge(): void {
    const { published, options } = this.#parts
    const candidates = published.list
      .filter((segment) => segment.sealed && segment.durable)
      .map((segment) => ({
        segment,
        chunks: segment.data.chunks,
        liveChunks: segment.liveChunks,
        bytes:
          segment.data.bytes + segment.location.columns.reduce((sum, column) => sum + mergedBytes(segment, column), 0),
      }))
    const limits = {
      segmentChunks: options.segmentChunks,
      memoryBytes: options.mergeMemoryBytes,
      fanIn: options.mergeFanIn,
      deletedMin: Math.max(1, options.sealChunks >>> 3),
    }
    const sources = chooseMerge(candidates, limits).map(({ segment }) => segment)
    if (sources.length > 0) this.#merging(sources)
  }

  #merging(sources: readonly WriterSegment[]): void {
    const { published, options, control } = this.#parts
    options.startMerge({
      memories: published.arena.memories,
      sources: sources.map((source) => source.location),
      generation: control.generation,
    })
    this.#merge = {
      sources,
      deletedKeys: sources.flatMap((segment) => segment.deletedKeys),
      late: sources.flatMap((segment) => segment.late),
      newVectors: [],
    }
    for (const source of sources) {
      source.deletedKeys = []
      source.late = []
    }
  }

  /** Replaces the sources of a finished merge by the new segment, first in memory, and then in the file. */
  install({ merged, reason }: MergeResult): void {
    const merge = this.#merge
    if (merge === null) return
    this.#merge = null
    let segment: WriterSegment
    try {
      if (merged === null) throw new Error(`merge failed: ${reason}`)
      segment = this.#placeMerged(merge, merged)
    } catch (error) {
      // The sources stay in use, and a later merge may succeed.
      merge.sources[0]!.deletedKeys.push(...merge.deletedKeys)
      merge.sources[0]!.late.push(...merge.late)
      throw error
    }
    this.#parts.published.publish({ add: [segment], remove: merge.sources })
    this.#pending = (file) => this.#writeMerged(file, merge, segment, merged.data, merged.columns)
  }

  #placeMerged(merge: RunningMerge, { data, columns, moved }: MergedSegment): WriterSegment {
    const { published } = this.#parts
    const segment = published.place(data, columns, true, [])
    segment.durable = false
    for (const [i, source] of merge.sources.entries()) this.#carryDeletions(source, moved[i]!, segment)
    try {
      for (const { segment: source, chunk, profile } of merge.newVectors) {
        const to = moved[merge.sources.indexOf(source)]![chunk]!
        if (to === removedChunk) continue
        if (!hasRow(segment, profile, to)) published.attachColumn(published.reserveColumn(segment, profile))
        segment.columns.get(profile.number)!.column.copyRow(to, source.columns.get(profile.number)!.column, chunk)
      }
    } catch (error) {
      published.release(segment.location)
      throw error
    }
    segment.deletedKeys = merge.sources.flatMap((source) => source.deletedKeys)
    segment.late = merge.sources.flatMap((source) => source.late)
    return segment
  }

  /** Applies deletions that were made during the merge. */
  #carryDeletions(source: WriterSegment, moved: Uint32Array, segment: WriterSegment): void {
    for (let document = 0; document < source.data.documents; document++) {
      const from = source.data.documentFirstChunk[document]!
      const to = source.data.documentFirstChunk[document + 1]!
      if (source.deletedAt[from] === neverDeleted || moved[from] === removedChunk) continue
      for (let chunk = from; chunk < to; chunk++) markDeleted(segment, moved[chunk]!, source.deletedAt[from]!)
      segment.liveChunks -= to - from
      segment.liveDocuments -= 1
    }
  }

  *#writeMerged(
    file: DurableFile,
    merge: RunningMerge,
    segment: WriterSegment,
    data: Uint8Array,
    columns: readonly MergedColumn[],
  ): Generator<void> {
    const { rows } = this.#parts
    const row = newRow(file, data, columns)
    for (const { blob, bytes } of blobsOf(row, data, columns)) yield* writeInSteps(file, blob, bytes)
    const replaced = merge.sources.flatMap((source) => source.rows).map((id) => rows.get(id)!)
    file.transaction(() => {
      file.putJson('segment', row.id, row)
      for (const { id } of replaced) file.remove('segment', id)
      removeNumbers(file, merge.deletedKeys, merge.late)
    })
    for (const { id } of replaced) rows.delete(id)
    rows.set(row.id, row)
    segment.rows = [row.id]
    segment.durable = true
    yield* this.#removeReplaced(file, replaced.flatMap(blobNumbers))
  }

  /** Makes the removal the pending writes, so that the steps before it are not repeated if it fails. */
  #removeReplaced(file: DurableFile, blobs: readonly number[]): Generator<void> {
    this.#pending = (open) => removeInSteps(open, blobs)
    return this.#pending(file)
  }

  #startColumnRewrite(): void {
    const due = this.#parts.published.list.find(
      ({ sealed, durable, late, data }) =>
        sealed && durable && late.length > Math.max(lateMin, data.chunks * lateShare),
    )
    if (due !== undefined) this.#pending = (file) => this.#rewriteColumns(file, due)
  }

  /** Copies the columns and counts the late vectors in one step, so that vectors that are set afterwards stay late. */
  *#rewriteColumns(file: DurableFile, segment: WriterSegment): Generator<void> {
    const { rows } = this.#parts
    const copied = segment.late.length
    segment.durable = false
    const columns = [...segment.columns].map(([profile, { column }]) => ({
      profile,
      dimensions: column.layout.dimensions,
      raw: withEveryRow(column, segment.data.chunks),
    }))
    const before = rows.get(segment.rows[0]!)!
    const after = { ...before, columns: columnRows(file, columns) }
    for (const [i, { blob }] of after.columns.entries()) yield* writeInSteps(file, blob, columns[i]!.raw)
    file.transaction(() => {
      file.putJson('segment', after.id, after)
      removeNumbers(file, [], segment.late.slice(0, copied))
    })
    segment.late.splice(0, copied)
    rows.set(after.id, after)
    segment.durable = true
    yield* this.#removeReplaced(
      file,
      before.columns.map((column) => column.blob),
    )
  }
}

/** The memory that a merge needs for a column. A merged column has a row for every chunk. */
const mergedBytes = ({ data }: WriterSegment, { dimensions }: ColumnLocation): number =>
  columnLayout(data.chunks, dimensions).total

function asSource(segment: WriterSegment): MergeSource {
  return {
    data: segment.data,
    isLive: (chunk) => segment.deletedAt[chunk] === neverDeleted,
    columns: columnsOf(segment),
  }
}

function columnRows(file: DurableFile, columns: readonly MergedColumn[]): SegmentRow['columns'] {
  return columns.map(({ profile, dimensions, raw }) => ({
    profile,
    dimensions,
    blob: file.newBlob(),
    bytes: raw.length,
  }))
}

function newRow(file: DurableFile, data: Uint8Array, columns: readonly MergedColumn[]): SegmentRow {
  return {
    id: file.state.nextSegment++,
    sealed: true,
    chunks: openSegmentData(data).chunks,
    image: { blob: file.newBlob(), bytes: data.length },
    columns: columnRows(file, columns),
  }
}

function blobsOf(row: SegmentRow, data: Uint8Array, columns: readonly MergedColumn[]) {
  return [
    { blob: row.image.blob, bytes: data },
    ...row.columns.map(({ blob }, i) => ({ blob, bytes: columns[i]!.raw as Uint8Array })),
  ]
}

function blobNumbers(row: SegmentRow): number[] {
  return [row.image.blob, ...row.columns.map((column) => column.blob)]
}

function removeRow(file: DurableFile, row: SegmentRow): void {
  file.remove('segment', row.id)
  for (const blob of blobNumbers(row)) file.removeBlob(blob)
}

function removeNumbers(file: DurableFile, deletedKeys: readonly number[], late: readonly number[]): void {
  for (const key of deletedKeys) file.removeNumber('death', key)
  for (const id of late) file.removeNumber('late_vector', id)
}

function* writeInSteps(file: DurableFile, blob: number, data: Uint8Array): Generator<void> {
  const pieces = file.writeBlob(blob, data)
  for (let done = false; !done; ) {
    file.transaction(() => {
      done = pieces.next().done === true
    })
    yield
  }
}

function* removeInSteps(file: DurableFile, blobs: readonly number[]): Generator<void> {
  for (const blob of blobs) {
    for (let left = true; left; ) {
      file.transaction(() => {
        left = file.removePieces(blob)
      })
      yield
    }
  }
}
