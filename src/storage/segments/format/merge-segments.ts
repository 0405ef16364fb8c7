import { catalogNumbersAt } from './catalog-numbers.ts'
import { SegmentBuilder, type TermScratch } from './segment-builder.ts'
import { compareDocumentIds, openSegmentData, type SegmentData } from './segment-data.ts'
import { bodyTokensAt, titleTokensAt } from './segment-tokens.ts'
import { columnLayout, VectorColumn } from './vector-column.ts'

export interface MergeSource {
  readonly data: SegmentData
  readonly isLive: (chunk: number) => boolean
  readonly columns: ReadonlyMap<number, VectorColumn>
}

export interface MergedColumn {
  readonly profile: number
  readonly dimensions: number
  readonly raw: Uint8Array<ArrayBuffer>
}

export interface MergedSegment {
  readonly data: Uint8Array<ArrayBuffer>
  /** For each source, the new number of each of its chunks, or `removedChunk`. */
  readonly moved: readonly Uint32Array<ArrayBuffer>[]
  readonly columns: readonly MergedColumn[]
}

export const removedChunk = 0xffffffff

/**
 * Merges the live chunks of several segments into one segment. The sources may lie in any memory and are not changed.
 */
export function mergeSegments(sources: readonly MergeSource[], scratch: TermScratch): MergedSegment {
  const documents: { source: number; document: number }[] = []
  sources.forEach(({ data, isLive }, source) => {
    for (let document = 0; document < data.documents; document++) {
      // All chunks of a document are deleted together.
      if (isLive(data.documentFirstChunk[document]!)) documents.push({ source, document })
    }
  })
  documents.sort((a, b) => compareDocumentIds(sources[a.source]!.data, a.document, sources[b.source]!.data, b.document))
  const builder = new SegmentBuilder(scratch)
  const moved = sources.map(({ data }) => new Uint32Array(data.chunks).fill(removedChunk))
  for (const { source, document } of documents) addDocument(builder, sources[source]!.data, document, moved[source]!)
  const data = builder.finish()
  return { data, moved, columns: mergeColumns(sources, moved, openSegmentData(data).chunks) }
}

function addDocument(builder: SegmentBuilder, data: SegmentData, document: number, moved: Uint32Array): void {
  const { documentIds, documentIdStart: idStart } = data
  builder.addDocument(
    documentIds.subarray(idStart[document]!, idStart[document + 1]!),
    data.documentPublished[document]!,
    catalogNumbersAt(data, document),
  )
  const versions = new Map<number, number>()
  for (let chunk = data.documentFirstChunk[document]!; chunk < data.documentFirstChunk[document + 1]!; chunk++) {
    const from = data.chunkVersion[chunk]!
    let version = versions.get(from)
    if (version === undefined) {
      version = builder.addVersion(
        data.versionIds.subarray(data.versionIdStart[from]!, data.versionIdStart[from + 1]!),
        titleTokensAt(data, from),
        data.titleLength[from]!,
      )
      versions.set(from, version)
    }
    moved[chunk] = builder.chunks
    builder.addChunk({
      id: data.chunkIds.subarray(data.chunkIdStart[chunk]!, data.chunkIdStart[chunk + 1]!),
      version,
      first: data.titleChunk[from] === chunk,
      classNumber: data.chunkClass[chunk]!,
      key: data.chunkKey[chunk]!,
      vectorKey: data.vectorKey[chunk]!,
      length: data.chunkLength[chunk]! - data.titleLength[from]!,
      body: bodyTokensAt(data, chunk),
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
