import type { AlgorithmInput, Running } from '../../algorithm.ts'
import type { TableFile } from '../../compute/table-file.ts'
import { type Nodes, squaresOf } from './cosine.ts'
import { EdgeTable, type edgeColumns, type NodeIds } from './edge-table.ts'
import { ExactNeighbours, unitVectors } from './exact-neighbours.ts'
import { openKernel } from './score-kernel.ts'

export type GraphParameters = {
  readonly k: number
  readonly min_similarity: number | null
}

/**
 * Writes the edges of all nodes, by source in id order and then by rank. Returns how many rows had to be recomputed.
 */
export async function writeGraph(
  input: AlgorithmInput,
  { k, min_similarity: minSimilarity }: GraphParameters,
  { edges }: { readonly edges: TableFile<typeof edgeColumns> },
  { threads, progress }: Running,
): Promise<{ readonly redone: number }> {
  const { ids, nodes } = await nodesOf(input)
  if (nodes.count < 2) return { redone: 0 }
  const table = new EdgeTable(edges, ids)
  const squares = squaresOf(nodes)
  const kernel = await openKernel(unitVectors(nodes, squares), nodes.dimensions, threads)
  const neighbours = new ExactNeighbours(nodes, squares, kernel, { k, minSimilarity })
  for await (const { start, counts, targets, similarities } of neighbours.blocks()) {
    let at = 0
    for (const [i, found] of counts.entries()) {
      for (let rank = 1; rank <= found; rank++, at++) table.add(start + i, targets[at]!, rank, similarities[at]!)
    }
    await progress((start + counts.length) / nodes.count)
  }
  table.writeGroup()
  return { redone: neighbours.redone }
}

/** Leaves out vectors without a direction (all zeros, or not finite), which neither have neighbours nor are any. */
async function nodesOf({ rowsMax, dimensions, portions }: AlgorithmInput): Promise<{ ids: NodeIds; nodes: Nodes }> {
  const ids = { chunkIds: [] as string[], documentIds: [] as string[], versionIds: [] as string[] }
  const vectors = new Float32Array(rowsMax * dimensions)
  for await (const portion of portions) {
    for (const [i, chunkId] of portion.chunkIds.entries()) {
      const vector = portion.vectors.subarray(i * dimensions, (i + 1) * dimensions)
      let square = 0
      for (const value of vector) square += value * value
      if (!(square > 0 && square < Number.POSITIVE_INFINITY)) continue
      vectors.set(vector, ids.chunkIds.length * dimensions)
      ids.chunkIds.push(chunkId)
      ids.documentIds.push(portion.documentIds[i]!)
      ids.versionIds.push(portion.versionIds[i]!)
    }
  }
  const count = ids.chunkIds.length
  return { ids, nodes: { count, dimensions, vectors: vectors.subarray(0, count * dimensions) } }
}
