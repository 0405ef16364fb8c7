/** Measures of a ranking against judged documents. Grades of 1 and more are relevant. */
export type Grades = ReadonlyMap<string, number>

/**
 * nDCG as trec_eval computes it: the gain of a document is its grade, discounted by log2(rank + 1), divided by the best
 * order of all judged documents.
 */
export function ndcg(ranked: readonly string[], grades: Grades, depth: number): number {
  const ideal = [...grades.values()].sort((a, b) => b - a)
  const best = discounted(ideal.slice(0, depth))
  return best === 0 ? 0 : discounted(ranked.slice(0, depth).map((id) => grades.get(id) ?? 0)) / best
}

const discounted = (gains: readonly number[]): number =>
  gains.reduce((sum, gain, position) => sum + gain / Math.log2(position + 2), 0)

export function recall(ranked: readonly string[], grades: Grades, depth: number): number {
  const relevant = [...grades].filter(([, grade]) => grade > 0).map(([id]) => id)
  const found = new Set(ranked.slice(0, depth))
  return relevant.length === 0 ? 0 : relevant.filter((id) => found.has(id)).length / relevant.length
}
