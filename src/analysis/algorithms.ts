import type { Algorithm } from './algorithm.ts'
import { knnGraph } from './algorithms/knn-graph/knn-graph.ts'
import { type AnalysisType, analysisTypes } from './analysis-store.ts'

/** A type that can be asked for, but not yet had: its runs fail. */
interface NotExecuted {
  readonly needsVectors: boolean
  readonly execute: null
}

/** Every type of the interface. */
export const algorithms: Readonly<Record<AnalysisType, Algorithm | NotExecuted>> = {
  knn_graph: knnGraph,
  clustering: { needsVectors: true, execute: null },
  feature_rollup: { needsVectors: false, execute: null },
  deduplication: { needsVectors: true, execute: null },
}

/** Null where runs of the type are not executed. */
export function algorithmOf(type: AnalysisType): Algorithm | null {
  const found = algorithms[type]
  return found.execute === null ? null : found
}

export const executed = analysisTypes.flatMap((type) => {
  const algorithm = algorithmOf(type)
  return algorithm === null ? [] : [{ type, algorithm }]
})
