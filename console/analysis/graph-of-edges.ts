/** A file of edges as a graph: nodes by their places in lists, and each pair once, whichever of the two named the other. */
export interface Graph {
  readonly subjectIds: readonly string[]
  readonly documentIds: readonly string[]
  /** Two places for each tie, those first that hold most. */
  readonly ties: Uint32Array<ArrayBuffer>
  /** Cosine, for each tie. */
  readonly similarities: Float32Array<ArrayBuffer>
  /** How much a tie holds: the nearest neighbour most, and more where each is a neighbour of the other. */
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
  const places = new Map<string, number>()
  const documentIds: string[] = []
  const placeOf = (subject: string, document: string): number => {
    const known = places.get(subject)
    if (known !== undefined) return known
    places.set(subject, documentIds.length)
    documentIds.push(document)
    return documentIds.length - 1
  }
  const ties = new Map<string, { a: number; b: number; similarity: number; strength: number }>()
  for (const row of rows) {
    const source = placeOf(row.source_subject_id, row.source_document_id)
    const target = placeOf(row.target_subject_id, row.target_document_id)
    const [a, b] = source < target ? [source, target] : [target, source]
    const strength = 1 / row.rank ** 2
    const known = ties.get(`${a} ${b}`)
    if (known === undefined) ties.set(`${a} ${b}`, { a, b, similarity: row.similarity, strength })
    else known.strength += strength
  }
  const sorted = [...ties.values()].sort((left, right) => right.strength - left.strength || left.a - right.a)
  return {
    subjectIds: [...places.keys()],
    documentIds,
    ties: Uint32Array.from(sorted.flatMap(({ a, b }) => [a, b])),
    similarities: Float32Array.from(sorted, ({ similarity }) => similarity),
    strengths: Float32Array.from(sorted, ({ strength }) => strength),
  }
}

export interface Neighbour {
  readonly place: number
  readonly similarity: number
}

/** The neighbours of a node, the nearest first. */
export function neighboursOf({ ties, similarities }: Graph, place: number): readonly Neighbour[] {
  const found: Neighbour[] = []
  for (let i = 0; i < similarities.length; i += 1) {
    const [a, b] = [ties[2 * i]!, ties[2 * i + 1]!]
    if (a === place || b === place) found.push({ place: a === place ? b : a, similarity: similarities[i]! })
  }
  return found.sort((left, right) => right.similarity - left.similarity)
}

/** How many ties each node has. */
export function degreesOf({ subjectIds, ties }: Graph): Uint32Array {
  const degrees = new Uint32Array(subjectIds.length)
  for (const place of ties) degrees[place]! += 1
  return degrees
}
