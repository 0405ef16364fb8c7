import type { AlgorithmInput, Running } from '../../algorithm.ts'
import type { TableFile } from '../../compute/table-file.ts'
import { type Nodes, squaresOf } from '../knn-graph/cosine.ts'
import type { groupColumns } from './group-columns.ts'
import { type DistinctText, groupTexts } from './group-texts.ts'
import { digestOf, shinglesOf, wordsOf } from './text-shingles.ts'

export type DeduplicationParameters = { readonly threshold: number }

const rowsPerGroup = 100_000
/** The share of the progress for reading and splitting texts. */
const readingShare = 0.3

interface Row {
  readonly chunkId: string
  readonly documentId: string
  readonly versionId: string
  readonly publishedAt: number
  /** Its position in the input. */
  readonly node: number
  readonly digest: string
  readonly shingles: Uint32Array
}

/** Writes the groups of near-identical texts. Equal texts count as one text, represented by the earliest row. */
export async function writeGroups(
  input: AlgorithmInput,
  { threshold }: DeduplicationParameters,
  { groups }: { readonly groups: TableFile<typeof groupColumns> },
  { progress }: Running,
): Promise<{ readonly texts: number; readonly groups: number }> {
  const { rows, nodes } = await readRows(input, (done) => progress(done * readingShare))
  rows.sort((a, b) => a.publishedAt - b.publishedAt || (a.chunkId < b.chunkId ? -1 : 1))
  const copies = [...Map.groupBy(rows, ({ digest }) => digest).values()]
  const squares = squaresOf(nodes)
  const texts = copies.map(([first]): DistinctText => {
    const square = squares[first!.node]!
    return { node: square > 0 && square < Number.POSITIVE_INFINITY ? first!.node : null, shingles: first!.shingles }
  })
  const { representatives, similarities } = await groupTexts(texts, nodes, squares, threshold, (done) =>
    progress(readingShare + done * (1 - readingShare)),
  )
  const found = copies.flatMap((rowsOfText, text) => {
    const representative = representatives[text]!
    const first = copies[representative]![0]!
    return rowsOfText.map((row) => ({
      ...row,
      groupId: first.chunkId,
      isRepresentative: row === first,
      similarity: similarities[text]!,
      kind: text === representative ? 'exact' : 'near',
    }))
  })
  const several = [...Map.groupBy(found, ({ groupId }) => groupId).values()].filter(({ length }) => length > 1)
  const members = several.flat().sort(inOrder)
  for (let start = 0; start < members.length; start += rowsPerGroup) {
    const some = members.slice(start, start + rowsPerGroup)
    groups.write({
      group_id: some.map(({ groupId }) => groupId),
      subject_id: some.map(({ chunkId }) => chunkId),
      document_id: some.map(({ documentId }) => documentId),
      version_id: some.map(({ versionId }) => versionId),
      is_representative: some.map(({ isRepresentative }) => isRepresentative),
      similarity: Float64Array.from(some, ({ similarity }) => similarity),
      kind: some.map(({ kind }) => kind),
    })
  }
  return { texts: texts.length, groups: several.length }
}

interface Member {
  readonly groupId: string
  readonly chunkId: string
  readonly isRepresentative: boolean
}

function inOrder(a: Member, b: Member): number {
  if (a.groupId !== b.groupId) return a.groupId < b.groupId ? -1 : 1
  return Number(b.isRepresentative) - Number(a.isRepresentative) || (a.chunkId < b.chunkId ? -1 : 1)
}

async function readRows(
  { rowsMax, dimensions, portions }: AlgorithmInput,
  progress: (done: number) => Promise<void>,
): Promise<{ rows: Row[]; nodes: Nodes }> {
  const vectors = new Float32Array(rowsMax * dimensions)
  const rows: Row[] = []
  for await (const portion of portions) {
    vectors.set(portion.vectors, rows.length * dimensions)
    for (const [i, chunkId] of portion.chunkIds.entries()) {
      const text = portion.texts[i]!
      const words = wordsOf(text)
      rows.push({
        chunkId,
        documentId: portion.documentIds[i]!,
        versionId: portion.versionIds[i]!,
        publishedAt: portion.documents[i]!.publishedAt ?? Number.MAX_VALUE,
        node: rows.length,
        digest: digestOf(words, text),
        shingles: shinglesOf(words),
      })
    }
    await progress(rows.length / rowsMax)
  }
  return { rows, nodes: { count: rows.length, dimensions, vectors } }
}
