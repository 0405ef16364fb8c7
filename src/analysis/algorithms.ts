import type { Algorithm } from './algorithm.ts'
import { knnGraph } from './algorithms/knn-graph/knn-graph.ts'

/** A type that can be asked for, but not yet had: its runs fail. */
interface NotExecuted {
  readonly needsVectors: boolean
  readonly execute: null
}

/** Every type of the interface. */
const table = {
  knn_graph: knnGraph,
  clustering: { needsVectors: true, execute: null },
  feature_rollup: { needsVectors: false, execute: null },
  deduplication: { needsVectors: true, execute: null },
} satisfies Readonly<Record<string, Algorithm | NotExecuted>>

export type AnalysisType = keyof typeof table
export const analysisTypes = Object.keys(table) as AnalysisType[]
export const algorithms: Readonly<Record<AnalysisType, Algorithm | NotExecuted>> = table

/** Null where runs of the type are not executed. */
export function algorithmOf(type: AnalysisType): Algorithm | null {
  const found = algorithms[type]
  return found.execute === null ? null : found
}

export const executed = analysisTypes.flatMap((type) => {
  const algorithm = algorithmOf(type)
  return algorithm === null ? [] : [{ type, algorithm }]
})
