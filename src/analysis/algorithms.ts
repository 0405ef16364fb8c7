import type { AnalysisType } from '../access/analysis-types.ts'
import type { Algorithm } from './algorithm.ts'
import { clustering } from './algorithms/clustering/clustering.ts'
import { deduplication } from './algorithms/deduplication/deduplication.ts'
import { featureRollup } from './algorithms/feature-rollup/feature-rollup.ts'
import { knnGraph } from './algorithms/knn-graph/knn-graph.ts'

/** All analysis types of the API. The policy of an application says which of them are executed. */
export const algorithms: Readonly<Record<AnalysisType, Algorithm>> = {
  knn_graph: knnGraph as Algorithm,
  clustering: clustering as Algorithm,
  feature_rollup: featureRollup as Algorithm,
  deduplication: deduplication as Algorithm,
}

export const algorithmEntries = Object.entries(algorithms) as [AnalysisType, Algorithm][]
