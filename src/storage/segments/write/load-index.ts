import { BlobReader } from '../file/blob-reader.ts'
import { DamagedFile, vectorDamage } from '../file/damage.ts'
import { type DurableFile, type SegmentRow, vectorId } from '../file/durable-file.ts'
import type { FilterClass, FilterClasses } from '../format/filter-classes.ts'
import { type MergeSource, mergeSegments } from '../format/merge-segments.ts'
import type { TermScratch } from '../format/segment-builder.ts'
import { openSegmentData } from '../format/segment-data.ts'
import { recordSegmentRoles, type TermDictionary } from '../memory/term-dictionary.ts'
import type { Profile } from '../memory/thread-messages.ts'
import { checkSegmentData } from './load-sealed.ts'
import { ParallelLoader } from './parallel-loader.ts'
import { type Deletion, hasRow, type PublishedSegments, type WriterSegment } from './published-segments.ts'
import type { PlacedSegment } from './segment-allocator.ts'
import type { WriterOptions } from './writer-calls.ts'

export interface LoadTarget {
  readonly dictionary: TermDictionary
  readonly classes: FilterClasses
  readonly profiles: Profile[]
  readonly published: PublishedSegments
  readonly rows: Map<number, SegmentRow>
  readonly scratch: TermScratch
  readonly options: Pick<WriterOptions, 'segmentChunks' | 'helpers' | 'helpFromBytes' | 'startHelper'>
}

/** Fills an empty index from its file and publishes it. Throws `DamagedFile` for any inconsistency. */
export function loadIndex(file: DurableFile, target: LoadTarget): void {
  const { dictionary, classes, profiles, published, rows } = target
  for (const filterClass of file.readJson<FilterClass>('class')) classes.addClass(filterClass)
  profiles.push(...file.readJson<Profile>('profile'))
  for (const row of file.readJson<SegmentRow>('segment')) rows.set(row.id, row)
  removeOrphans(file, rows)

  const sealed = [...rows.values()].filter((row) => row.sealed)
  const small = [...rows.values()].filter((row) => !row.sealed)
  using loader = new ParallelLoader({
    path: file.path,
    dictionary: dictionary.buffers,
    classes: classes.list.length,
    rows: sealed,
  })
  const { helpers, helpFromBytes, startHelper } = target.options
  if (bytesIn(sealed) >= helpFromBytes) for (let i = 0; i < helpers; i++) loader.addHelper(startHelper)
  for (const { first, count, data } of file.readTerms()) {
    if (first !== dictionary.size || !dictionary.unpack(data, count))
      throw new DamagedFile('the term numbers have a gap')
  }
  const deleted = new Set(file.readNumbers('death'))
  const placed: PlacedSegment[] = []
  const segments: WriterSegment[] = []
  try {
    loader.load(dictionary, published.allocator, placed)
    placed.forEach((segment, i) => {
      segments.push(published.adopt(segment, true, [sealed[i]!.id]))
    })
    loadSmall(file, small, deleted, target, segments)
    loadLateVectors(file, segments, deleted, target)
  } catch (error) {
    const locations = segments.length === 0 ? placed : segments.map(({ location }) => location)
    // `forEach` skips entries that are not set yet.
    locations.forEach((location) => {
      published.release(location)
    })
    throw error
  }
  published.publish({
    add: segments,
    deletions: deleted.size === 0 ? [] : segments.flatMap((one) => deletionsIn(one, deleted)),
  })
}

function bytesIn(rows: readonly SegmentRow[]): number {
  return rows.flatMap(({ image, columns }) => [image, ...columns]).reduce((sum, { bytes }) => sum + bytes, 0)
}

function deletionsIn(segment: WriterSegment, deleted: ReadonlySet<number>): Deletion[] {
  const { documents, documentFirstChunk, chunkKey } = segment.data
  return Array.from({ length: documents }, (_, document) => ({ segment, document })).filter(({ document }) =>
    deleted.has(chunkKey[documentFirstChunk[document]!]!),
  )
}

/** Removes the blobs that a crash left before a segment row named them. */
function removeOrphans(file: DurableFile, rows: ReadonlyMap<number, SegmentRow>): void {
  const named = new Set(
    [...rows.values()].flatMap((row) => [row.image.blob, ...row.columns.map((column) => column.blob)]),
  )
  const orphans = file.blobs().filter((blob) => !named.has(blob))
  if (orphans.length === 0) return
  file.transaction(() => {
    for (const blob of orphans) file.removeBlob(blob)
  })
}

/** Merges the batches since the last seal, which have a row each, into as few segments as possible. */
function loadSmall(
  file: DurableFile,
  rows: readonly SegmentRow[],
  deleted: ReadonlySet<number>,
  target: LoadTarget,
  segments: WriterSegment[],
): void {
  const { dictionary, classes } = target
  let sources: MergeSource[] = []
  let sourceRows: number[] = []
  let chunks = 0
  const flush = () => {
    if (sources.length === 0) return
    const { data } = mergeSegments(sources, target.scratch)
    const segment = target.published.place(data, [], false, sourceRows)
    for (const source of sources) segment.deletedKeys.push(...source.data.chunkKey.filter((key) => deleted.has(key)))
    segments.push(segment)
    sources = []
    sourceRows = []
    chunks = 0
  }
  using blobs = new BlobReader(file.path)
  for (const row of rows) {
    const raw = new Uint8Array(row.image.bytes)
    blobs.read(row.image, raw)
    const data = openSegmentData(raw)
    checkSegmentData(data, dictionary.size, classes.list.length)
    recordSegmentRoles(data, dictionary.shapes.roles)
    if (chunks + data.chunks > target.options.segmentChunks) flush()
    chunks += data.chunks
    sourceRows.push(row.id)
    sources.push({ data, isLive: (chunk) => !deleted.has(data.chunkKey[chunk]!), columns: new Map() })
  }
  flush()
}

function loadLateVectors(
  file: DurableFile,
  segments: readonly WriterSegment[],
  deleted: ReadonlySet<number>,
  { profiles, published }: LoadTarget,
): void {
  const late = new Map<number, number[]>()
  for (const id of file.readNumbers('late_vector')) {
    const key = id % 2 ** 32
    late.set(key, [...(late.get(key) ?? []), id])
  }
  if (late.size === 0) return
  for (const segment of segments) {
    segment.data.chunkKey.forEach((key, chunk) => {
      for (const id of late.get(key) ?? []) {
        segment.late.push(id)
        const profile = profiles.find(({ number }) => number === Math.floor(id / 2 ** 32))
        if (profile === undefined || deleted.has(key)) continue
        const floats = file.readVector(vectorId(profile.number, segment.data.vectorKey[chunk]!))
        if (floats?.length !== profile.dimensions) throw new DamagedFile(vectorDamage)
        if (!hasRow(segment, profile, chunk)) published.attachColumn(published.reserveColumn(segment, profile))
        segment.columns.get(profile.number)!.column.set(chunk, floats)
      }
    })
  }
}
