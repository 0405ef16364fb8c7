import { zstdDecompressSync } from 'node:zlib'
import { parquetReadObjects } from 'hyparquet'
import { derivedId } from '../../../platform/ids.ts'
import type { AlgorithmInput, InputDocument, Running, Series } from '../../algorithm.ts'
import type { TableFile } from '../../compute/table-file.ts'
import type { Nodes } from '../knn-graph/cosine.ts'
import { firstEqualRows } from '../knn-graph/first-equal-rows.ts'
import type { assignmentColumns, clusterColumns, historyColumns } from './cluster-columns.ts'
import { type Cluster, type ClusteredRow, describeClusters } from './describe-clusters.ts'
import { type AssignedChunk, type FollowedCluster, followClusters } from './follow-clusters.ts'
import { type Graph, leiden } from './leiden.ts'
import { neighbourGraph } from './neighbour-graph.ts'
import { Vocabulary } from './vocabulary.ts'

export type ClusteringParameters = {
  readonly min_cluster_size: number
  readonly resolution: number
}

interface Output {
  readonly assignments: TableFile<typeof assignmentColumns>
  readonly clusters: TableFile<typeof clusterColumns>
  readonly cluster_history: TableFile<typeof historyColumns> | undefined
}

const neighboursMax = 100
const rowsPerGroup = 100_000
/** Shares of the progress: reading and splitting texts, then finding neighbours. */
const [readingShare, neighboursShare] = [0.3, 0.6]

export async function writeClusters(
  input: AlgorithmInput,
  { min_cluster_size: sizeMin, resolution }: ClusteringParameters,
  output: Output,
  { threads, progress }: Running,
): Promise<{ readonly clusters: number; readonly clustered: number }> {
  const vocabulary = new Vocabulary()
  const { rows, nodes: all } = await readRows(input, vocabulary, (done) => progress(done * readingShare))
  const nodes = joinEqual(rows, all)
  const k = Math.min(neighboursMax, 2 * sizeMin)
  const graph = await neighbourGraph(nodes, k, threads, (done) => progress(readingShare + done * neighboursShare))
  const communities = leiden(graph, resolution)
  await progress(readingShare + neighboursShare)

  const communityOf = ({ node }: ClusteredRow): number => (node === null ? -1 : communities[node]!)
  const byCommunity = Map.groupBy(rows, communityOf)
  byCommunity.delete(-1)
  const members = [...byCommunity.values()].filter(({ length }) => length >= sizeMin)
  const inCluster = new Set(members.flat())
  const others = rows.filter((row) => !inCluster.has(row))
  const described = describeClusters(members, others, nodes, vocabulary)
  const history = input.series === null ? null : await historyOf(described, rows, input.series)
  const idOf = new Map(history?.map(({ name, clusterId }) => [name, clusterId]))
  const clusters = described
    .map((cluster) => ({ ...cluster, clusterId: idOf.get(cluster.clusterId) ?? cluster.clusterId }))
    .sort((a, b) => b.rows.length - a.rows.length || (a.clusterId < b.clusterId ? -1 : 1))
  await progress(1)

  const clusterOf = new Map(clusters.flatMap((cluster) => cluster.rows.map((row) => [row, cluster] as const)))
  const strengths = strengthsOf(graph, communities)
  for (let start = 0; start < rows.length; start += rowsPerGroup) {
    const some = rows.slice(start, start + rowsPerGroup)
    output.assignments.write({
      subject_id: some.map(({ chunkId }) => chunkId),
      document_id: some.map(({ documentId }) => documentId),
      version_id: some.map(({ versionId }) => versionId),
      cluster_id: some.map((row) => clusterOf.get(row)?.clusterId ?? null),
      strength: Float64Array.from(some, (row) => (clusterOf.has(row) ? strengths[row.node!]! : 0)),
    })
  }
  if (clusters.length > 0) writeTable(output.clusters, clusters)
  if (history !== null && history.length > 0) writeHistory(output.cluster_history!, history, input.series!)
  return { clusters: clusters.length, clustered: clusterOf.size }
}

/** The id of a new cluster derives from its most central chunk and from when it was first seen. */
async function historyOf(
  clusters: readonly Cluster[],
  rows: readonly ClusteredRow[],
  { before, cutoffAt, turn }: Series,
): Promise<FollowedCluster[]> {
  const nameOf = new Map(clusters.flatMap((cluster) => cluster.rows.map((row) => [row, cluster.clusterId] as const)))
  const now = rows.map((row) => ({ ...row, clusterId: nameOf.get(row) ?? null }))
  const earlier = before === null ? [] : await readAssignments(before)
  return followClusters(earlier, now, (name) => derivedId('clu', cutoffAt, `${turn} ${name}`))
}

function writeHistory(
  table: TableFile<typeof historyColumns>,
  history: readonly FollowedCluster[],
  { runId }: Series,
): void {
  table.write({
    cluster_id: history.map(({ clusterId }) => clusterId),
    run_id: history.map(() => runId),
    status: history.map(({ status }) => status),
    parent_cluster_ids: history.map(({ parentClusterIds }) => parentClusterIds),
    size: Int32Array.from(history, ({ size }) => size),
  })
}

function writeTable(table: Output['clusters'], clusters: readonly Cluster[]): void {
  const times = ({ documents }: Cluster): number[] =>
    [...documents.values()].flatMap(({ publishedAt }) => publishedAt ?? [])
  const dateOf = (time: number | undefined): Date | null => (time === undefined ? null : new Date(time))
  table.write({
    cluster_id: clusters.map(({ clusterId }) => clusterId),
    size: Int32Array.from(clusters, ({ rows }) => rows.length),
    documents: Int32Array.from(clusters, ({ documents }) => documents.size),
    words: clusters.map(({ words }) => words),
    central_document_ids: clusters.map(({ centralDocumentIds }) => centralDocumentIds),
    first_published_at: clusters.map((one) => dateOf(times(one).reduce(earliest, undefined))),
    last_published_at: clusters.map((one) => dateOf(times(one).reduce(latest, undefined))),
    platforms: clusters.map((one) => countsOf(one, ({ platform }) => platform)),
    languages: clusters.map((one) => countsOf(one, ({ language }) => language)),
    days: clusters.map((one) => countsOf(one, dayOf)),
  })
}

const earliest = (a: number | undefined, b: number): number => (a === undefined ? b : Math.min(a, b))
const latest = (a: number | undefined, b: number): number => (a === undefined ? b : Math.max(a, b))
const dayOf = ({ publishedAt }: InputDocument): string | null =>
  publishedAt === null ? null : new Date(publishedAt).toISOString().slice(0, 10)

/** Counts documents by value, in the order of values. Leaves out documents without a value. */
function countsOf({ documents }: Cluster, of: (document: InputDocument) => string | null): Map<string, number> {
  const counts = new Map<string, number>()
  for (const document of documents.values()) {
    const value = of(document)
    if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1)
  }
  return new Map([...counts].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The share of each node's edge weight that stays within its community; 1 for a node without edges. */
function strengthsOf({ nodes, starts, neighbours, weights }: Graph, communities: Int32Array): Float64Array {
  return Float64Array.from({ length: nodes }, (_, node) => {
    let [within, all] = [0, 0]
    for (let at = starts[node]!; at < starts[node + 1]!; at++) {
      all += weights[at]!
      if (communities[neighbours[at]!] === communities[node]) within += weights[at]!
    }
    return all === 0 ? 1 : within / all
  })
}

/**
 * Merges equal vectors into one node. Otherwise all copies of a text would have the same few copies as their nearest
 * neighbours, and the other copies would be nobody's neighbour. Vectors are moved to the front in place, because a
 * second array would double the memory.
 */
function joinEqual(rows: readonly ClusteredRow[], { count, dimensions, vectors }: Nodes): Nodes {
  const first = firstEqualRows({ count, dimensions, vectors })
  const nodeOf = new Int32Array(count)
  let distinct = 0
  for (let node = 0; node < count; node++) {
    if (first[node] === node) vectors.copyWithin(distinct * dimensions, node * dimensions, (node + 1) * dimensions)
    nodeOf[node] = first[node] === node ? distinct++ : nodeOf[first[node]!]!
  }
  for (const row of rows) if (row.node !== null) row.node = nodeOf[row.node]!
  return { count: distinct, dimensions, vectors: vectors.subarray(0, distinct * dimensions) }
}

async function readRows(
  { rowsMax, dimensions, portions }: AlgorithmInput,
  vocabulary: Vocabulary,
  progress: (done: number) => Promise<void>,
): Promise<{ rows: ClusteredRow[]; nodes: Nodes }> {
  const vectors = new Float32Array(rowsMax * dimensions)
  const rows: ClusteredRow[] = []
  let count = 0
  for await (const portion of portions) {
    for (const [i, chunkId] of portion.chunkIds.entries()) {
      const vector = portion.vectors.subarray(i * dimensions, (i + 1) * dimensions)
      const square = vector.reduce((sum, value) => sum + value * value, 0)
      const hasDirection = square > 0 && square < Number.POSITIVE_INFINITY
      if (hasDirection) vectors.set(vector, count * dimensions)
      const document = portion.documents[i]!
      rows.push({
        chunkId,
        documentId: portion.documentIds[i]!,
        versionId: portion.versionIds[i]!,
        document,
        words: vocabulary.wordsOf([document.title ?? '', portion.texts[i]!], document.language),
        node: hasDirection ? count++ : null,
      })
    }
    await progress(rows.length / rowsMax)
  }
  return { rows, nodes: { count, dimensions, vectors: vectors.subarray(0, count * dimensions) } }
}

/** Reads the cluster assignments of an earlier run. */
async function readAssignments(bytes: Uint8Array): Promise<AssignedChunk[]> {
  const rows = await parquetReadObjects({
    file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer,
    columns: ['subject_id', 'document_id', 'cluster_id'],
    compressors: { ZSTD: (compressed) => zstdDecompressSync(compressed) },
  })
  return rows.map(({ subject_id: chunkId, document_id: documentId, cluster_id: clusterId }) => ({
    chunkId,
    documentId,
    clusterId,
  }))
}
