import type { TProperties } from 'typebox'
import type { AnalysisType } from '../access/analysis-types.ts'
import { clusteringParameters } from './algorithms/clustering/clustering-parameters.ts'
import { deduplicationParameters } from './algorithms/deduplication/deduplication-parameters.ts'
import { featureRollupParameters } from './algorithms/feature-rollup/feature-rollup-parameters.ts'
import { knnGraphParameters } from './algorithms/knn-graph/knn-graph-parameters.ts'

/**
 * What a request of each type may say: each parameter with its bounds, and with its default where it has one. Apart from
 * the algorithms, because the process that executes one needs no library of schemas.
 */
export const algorithmParameters: Readonly<Record<AnalysisType, TProperties>> = {
  knn_graph: knnGraphParameters,
  clustering: clusteringParameters,
  feature_rollup: featureRollupParameters,
  deduplication: deduplicationParameters,
}

export const parameterEntries = Object.entries(algorithmParameters) as [AnalysisType, TProperties][]
