/**
 * The graph of an edge file. Nodes are numbered. A pair of neighbours is one edge, even if it is listed in both
 * directions.
 */
export interface Graph {
  readonly subjectIds: readonly string[]
  readonly documentIds: readonly string[]
  /** Two node numbers for each edge, the strongest edges first. */
  readonly edges: Uint32Array<ArrayBuffer>
  /** The cosine similarity of each edge. */
  readonly similarities: Float32Array<ArrayBuffer>
  /** The strength of each edge: 1 / rank², added up over the directions in which it is listed. */
  readonly strengths: Float32Array<ArrayBuffer>
}

export const edgeColumns = [
  'source_subject_id',
  'target_subject_id',
  'source_document_id',
  'target_document_id',
  'rank',
  'similarity',
] as const

export interface EdgeRow {
  readonly source_subject_id: string
  readonly target_subject_id: string
  readonly source_document_id: string
  readonly target_document_id: string
  readonly rank: number
  readonly similarity: number
}

export function graphOfEdges(rows: readonly EdgeRow[]): Graph {
  const nodes = new Map<string, number>()
  const documentIds: string[] = []
  const nodeOf = (subject: string, document: string): number => {
    const known = nodes.get(subject)
    if (known !== undefined) return known
    nodes.set(subject, documentIds.length)
    documentIds.push(document)
    return documentIds.length - 1
  }
  const edges = new Map<string, { a: number; b: number; similarity: number; strength: number }>()
  for (const row of rows) {
    const source = nodeOf(row.source_subject_id, row.source_document_id)
    const target = nodeOf(row.target_subject_id, row.target_document_id)
    const [a, b] = source < target ? [source, target] : [target, source]
    const strength = 1 / row.rank ** 2
    const known = edges.get(`${a} ${b}`)
    if (known === undefined) edges.set(`${a} ${b}`, { a, b, similarity: row.similarity, strength })
    else known.strength += strength
  }
  const sorted = [...edges.values()].sort((left, right) => right.strength - left.strength || left.a - right.a)
  return {
    subjectIds: [...nodes.keys()],
    documentIds,
    edges: Uint32Array.from(sorted.flatMap(({ a, b }) => [a, b])),
    similarities: Float32Array.from(sorted, ({ similarity }) => similarity),
    strengths: Float32Array.from(sorted, ({ strength }) => strength),
  }
}

export interface Neighbour {
  readonly node: number
  readonly similarity: number
}

/** Returns the neighbours of a node, the nearest first. */
export function neighboursOf({ edges, similarities }: Graph, node: number): readonly Neighbour[] {
  const found: Neighbour[] = []
  for (let i = 0; i < similarities.length; i += 1) {
    const [a, b] = [edges[2 * i]!, edges[2 * i + 1]!]
    if (a === node || b === node) found.push({ node: a === node ? b : a, similarity: similarities[i]! })
  }
  return found.sort((left, right) => right.similarity - left.similarity)
}

/** Returns the number of edges of each node. */
export function degreesOf({ subjectIds, edges }: Graph): Uint32Array {
  const degrees = new Uint32Array(subjectIds.length)
  for (const node of edges) degrees[node]! += 1
  return degrees
}
