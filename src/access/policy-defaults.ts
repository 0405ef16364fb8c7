import type { AnalysisType } from './analysis-types.ts'

/** The values that apply if an application's policy sets none. */
export const policyDefaults = {
  requestsPerSecond: 50,
  inFlight: 32,
  analysisInputChunks: 5000,
  analysisTypes: ['knn_graph'] as readonly AnalysisType[],
} as const
