/** Every analysis type of the API. */
export const analysisTypes = ['knn_graph', 'clustering', 'feature_rollup', 'deduplication'] as const
export type AnalysisType = (typeof analysisTypes)[number]
