import { catalogNumbersAt } from './catalog-numbers.ts'
import { SegmentBuilder, type TermScratch } from './segment-builder.ts'
import { compareDocumentIds, openSegmentData, type SegmentData } from './segment-data.ts'
import { bodyTokensAt, titleTokensAt } from './segment-tokens.ts'
import { columnLayout, VectorColumn } from './vector-column.ts'

export interface MergeSource {
  readonly image: SegmentData
  readonly isAlive: (chunk: number) => boolean
  readonly columns: ReadonlyMap<number, VectorColumn>
}

export interface MergedColumn {
  readonly profile: number
  readonly dimensions: number
  readonly raw: Uint8Array<ArrayBuffer>
}

export interface MergedSegment {
  readonly image: Uint8Array<ArrayBuffer>
  /** For each source, the new number of each of its chunks, or `removedChunk`. */
  readonly moved: readonly Uint32Array<ArrayBuffer>[]
  readonly columns: readonly MergedColumn[]
}

export const removedChunk = 0xffffffff

/**
 * Merges the chunks of several segments that are not deleted into one. The sources may lie in any memory and are not
 * changed.
 */
export function mergeSegments(sources: readonly MergeSource[], scratch: TermScratch): MergedSegment {
  const documents: { source: number; document: number }[] = []
  sources.forEach(({ image, isAlive }, source) => {
    for (let document = 0; document < image.documents; document++) {
      // All chunks of a document are deleted together.
      if (isAlive(image.documentFirstChunk[document]!)) documents.push({ source, document })
    }
  })
  documents.sort((a, b) =>
    compareDocumentIds(sources[a.source]!.image, a.document, sources[b.source]!.image, b.document),
  )
  const builder = new SegmentBuilder(scratch)
  const moved = sources.map(({ image }) => new Uint32Array(image.chunks).fill(removedChunk))
  for (const { source, document } of documents) addDocument(builder, sources[source]!.image, document, moved[source]!)
  const image = builder.finish()
  return { image, moved, columns: mergeColumns(sources, moved, openSegmentData(image).chunks) }
}

function addDocument(builder: SegmentBuilder, image: SegmentData, document: number, moved: Uint32Array): void {
  const { documentIds, documentIdStart: idStart } = image
  builder.addDocument(
    documentIds.subarray(idStart[document]!, idStart[document + 1]!),
    image.documentPublished[document]!,
    catalogNumbersAt(image, document),
  )
  const versions = new Map<number, number>()
  for (let chunk = image.documentFirstChunk[document]!; chunk < image.documentFirstChunk[document + 1]!; chunk++) {
    const from = image.chunkVersion[chunk]!
    let version = versions.get(from)
    if (version === undefined) {
      version = builder.addVersion(
        image.versionIds.subarray(image.versionIdStart[from]!, image.versionIdStart[from + 1]!),
        titleTokensAt(image, from),
        image.titleLength[from]!,
      )
      versions.set(from, version)
    }
    moved[chunk] = builder.chunks
    builder.addChunk({
      id: image.chunkIds.subarray(image.chunkIdStart[chunk]!, image.chunkIdStart[chunk + 1]!),
      version,
      first: image.titleChunk[from] === chunk,
      classNumber: image.chunkClass[chunk]!,
      key: image.chunkKey[chunk]!,
      vectorKey: image.vectorKey[chunk]!,
      length: image.chunkLength[chunk]! - image.titleLength[from]!,
      body: bodyTokensAt(image, chunk),
    })
  }
}

function mergeColumns(sources: readonly MergeSource[], moved: readonly Uint32Array[], chunks: number): MergedColumn[] {
  const profiles = new Map<number, number>()
  for (const { columns } of sources) {
    for (const [profile, column] of columns) profiles.set(profile, column.layout.dimensions)
  }
  return [...profiles].map(([profile, dimensions]) => {
    const layout = columnLayout(chunks, dimensions)
    const merged = new VectorColumn(layout, new Uint8Array(layout.total))
    sources.forEach(({ columns }, source) => {
      const column = columns.get(profile)
      if (column === undefined) return
      moved[source]!.forEach((to, from) => {
        if (to !== removedChunk && column.has(from)) merged.copyRow(to, column, from)
      })
    })
    return { profile, dimensions, raw: merged.raw as Uint8Array<ArrayBuffer> }
  })
}
