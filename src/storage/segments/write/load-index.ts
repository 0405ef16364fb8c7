import { DamagedFile, type DurableFile, type SegmentRow, vectorId } from '../file/durable-file.ts'
import type { FilterClass, FilterClasses } from '../format/filter-classes.ts'
import { type MergedColumn, type MergeSource, mergeSegments } from '../format/merge-segments.ts'
import type { TermScratch } from '../format/segment-builder.ts'
import { openImage, type SegmentImage } from '../format/segment-image.ts'
import { bytesOf } from '../memory/arena.ts'
import type { Profile } from '../memory/published-list.ts'
import type { TermDictionary } from '../memory/term-dictionary.ts'
import { type Death, hasRow, type PublishedSegments, type WriterSegment } from './published-segments.ts'

export interface LoadTarget {
  readonly dictionary: TermDictionary
  readonly classes: FilterClasses
  readonly profiles: Profile[]
  readonly published: PublishedSegments
  readonly rows: Map<number, SegmentRow>
  readonly scratch: TermScratch
  readonly segmentChunks: number
}

/** Fills an empty index from its file and publishes it. Throws `DamagedFile` when anything does not add up. */
export function loadIndex(file: DurableFile, target: LoadTarget): void {
  const { dictionary, classes, profiles, published, rows } = target
  for (const { first, count, data } of file.readTerms()) {
    if (first !== dictionary.size || !dictionary.unpack(data, count)) throw new DamagedFile('terms do not add up')
  }
  for (const filterClass of file.readJson<FilterClass>('class')) classes.addClass(filterClass)
  profiles.push(...file.readJson<Profile>('profile'))
  for (const row of file.readJson<SegmentRow>('segment')) rows.set(row.id, row)
  removeOrphans(file, rows)

  const dead = new Set(file.readNumbers('death'))
  const sealed = [...rows.values()].filter((row) => row.sealed)
  const small = [...rows.values()].filter((row) => !row.sealed)
  const segments: WriterSegment[] = []
  // One for all columns: memory that is new has to be made by the system first, which takes about as long as to read them.
  const raw = new Uint8Array(Math.max(0, ...sealed.flatMap(({ columns }) => columns.map(({ bytes }) => bytes))))
  try {
    file.readingMuch(() => {
      for (const row of sealed) segments.push(loadSealed(file, row, target, raw))
      loadSmall(file, small, dead, target, segments)
      loadLateVectors(file, segments, dead, target)
    })
  } catch (error) {
    for (const segment of segments) published.release(segment.place)
    throw error
  }
  published.publish({ add: segments, deaths: dead.size === 0 ? [] : segments.flatMap((one) => deathsIn(one, dead)) })
}

function deathsIn(segment: WriterSegment, dead: ReadonlySet<number>): Death[] {
  const { documents, documentFirstChunk, chunkKey } = segment.image
  return Array.from({ length: documents }, (_, document) => ({ segment, document })).filter(({ document }) =>
    dead.has(chunkKey[documentFirstChunk[document]!]!),
  )
}

/** What a crash left between writing pieces and naming them. */
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

function check(image: SegmentImage, { dictionary, classes }: LoadTarget): SegmentImage {
  if (image.terms > 0 && image.term[image.terms - 1]! >= dictionary.size) throw new DamagedFile('unknown term')
  for (const values of [image.documentAuthor, image.topics, image.tags, image.classifications]) {
    for (const number of values) if (number >= dictionary.size) throw new DamagedFile('unknown value')
  }
  for (const number of image.chunkClass) if (number >= classes.list.length) throw new DamagedFile('unknown class')
  dictionary.noteWords(image.titleTokens)
  dictionary.noteWords(image.bodyTokens)
  return image
}

function loadSealed(
  file: DurableFile,
  row: SegmentRow,
  target: LoadTarget,
  raw: Uint8Array<ArrayBuffer>,
): WriterSegment {
  const { published } = target
  const room = published.reserve(row.image.bytes, row.chunks)
  try {
    file.readBlob(row.image, bytesOf(published.arena.memories, room.image))
    const image = check(openImage(bytesOf(published.arena.memories, room.image)), target)
    if (image.chunks !== row.chunks) throw new DamagedFile('chunks do not add up')
  } catch (error) {
    published.release(room)
    throw error
  }
  return published.adopt(room, readColumns(file, row, raw), true, [row.id])
}

/** One after the other, in the same memory. */
function* readColumns(file: DurableFile, row: SegmentRow, raw: Uint8Array<ArrayBuffer>): Generator<MergedColumn> {
  for (const { profile, dimensions, ...blob } of row.columns) {
    const own = raw.subarray(0, blob.bytes)
    file.readBlob(blob, own)
    yield { profile, dimensions, raw: own }
  }
}

/** Adds the batches since the last seal, each a row of its own, as few segments as they fit into. */
function loadSmall(
  file: DurableFile,
  rows: readonly SegmentRow[],
  dead: ReadonlySet<number>,
  target: LoadTarget,
  segments: WriterSegment[],
): void {
  let sources: MergeSource[] = []
  let sourceRows: number[] = []
  let chunks = 0
  const flush = () => {
    if (sources.length === 0) return
    const { image } = mergeSegments(sources, target.scratch)
    const segment = target.published.place(image, [], false, sourceRows)
    for (const source of sources) segment.deadKeys.push(...source.image.chunkKey.filter((key) => dead.has(key)))
    segments.push(segment)
    sources = []
    sourceRows = []
    chunks = 0
  }
  for (const row of rows) {
    const raw = new Uint8Array(row.image.bytes)
    file.readBlob(row.image, raw)
    const image = check(openImage(raw), target)
    if (chunks + image.chunks > target.segmentChunks) flush()
    chunks += image.chunks
    sourceRows.push(row.id)
    sources.push({ image, isAlive: (chunk) => !dead.has(image.chunkKey[chunk]!), columns: new Map() })
  }
  flush()
}

function loadLateVectors(
  file: DurableFile,
  segments: readonly WriterSegment[],
  dead: ReadonlySet<number>,
  { profiles, published }: LoadTarget,
): void {
  const late = new Map<number, number[]>()
  for (const id of file.readNumbers('late_vector')) {
    const key = id % 2 ** 32
    late.set(key, [...(late.get(key) ?? []), id])
  }
  if (late.size === 0) return
  for (const segment of segments) {
    segment.image.chunkKey.forEach((key, chunk) => {
      for (const id of late.get(key) ?? []) {
        segment.late.push(id)
        const profile = profiles.find(({ number }) => number === Math.floor(id / 2 ** 32))
        if (profile === undefined || dead.has(key)) continue
        const floats = file.readVector(vectorId(profile.number, segment.image.vectorKey[chunk]!))
        if (floats?.length !== profile.dimensions) throw new DamagedFile('a vector is missing or damaged')
        if (!hasRow(segment, profile, chunk)) published.attachColumn(published.reserveColumn(segment, profile))
        segment.columns.get(profile.number)!.column.set(chunk, floats)
      }
    })
  }
}
