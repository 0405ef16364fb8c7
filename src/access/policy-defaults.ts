import type { AnalysisType } from './analysis-types.ts'

/** What applies where an application's policy is silent. */
export const policyDefaults = {
  requestsPerSecond: 50,
  inFlight: 32,
  analysisInputChunks: 5000,
  analysisTypes: ['knn_graph'] as readonly AnalysisType[],
} as const
