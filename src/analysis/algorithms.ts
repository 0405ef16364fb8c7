import type { AnalysisType } from '../access/analysis-types.ts'
import type { Algorithm } from './algorithm.ts'
import { deduplication } from './algorithms/deduplication/deduplication.ts'
import { featureRollup } from './algorithms/feature-rollup/feature-rollup.ts'
import { knnGraph } from './algorithms/knn-graph/knn-graph.ts'

/** A type that can be asked for, but not yet had: its runs fail. */
interface NotExecuted {
  readonly needsVectors: boolean
  readonly execute: null
}

export const algorithms: Readonly<Record<AnalysisType, Algorithm | NotExecuted>> = {
  knn_graph: knnGraph as Algorithm,
  clustering: { needsVectors: true, execute: null },
  feature_rollup: featureRollup as Algorithm,
  deduplication: deduplication as Algorithm,
}

export const analysisTypes = Object.keys(algorithms) as AnalysisType[]

/** Null where runs of the type are not executed. */
export function algorithmOf(type: AnalysisType): Algorithm | null {
  const found = algorithms[type]
  return found.execute === null ? null : found
}

export const executed = analysisTypes.flatMap((type) => {
  const algorithm = algorithmOf(type)
  return algorithm === null ? [] : [{ type, algorithm }]
})
