/**
 * Measures each type of analysis beside the neighbour graph of the same input: CPU and wall time, and the peak memory
 * of the process. Chunks have 384 dimensions and 200 words, and one in 20 is a copy. One thread.
 *
 *   npm run bench -- analysis [CHUNKS…]      default: 5000 and 50000
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AnalysisType } from '../src/access/analysis-types.ts'
import type { KeptParameters } from '../src/analysis/algorithm.ts'
import { algorithms } from '../src/analysis/algorithms.ts'
import { computeInProcess } from '../src/analysis/compute/compute-in-process.ts'
import { type MadeInput, makeInput, portionsOf } from './analysis/make-input.ts'

const dimensions = 384
/** The graph comes first, because the others are compared with it. */
const jobs: readonly (readonly [AnalysisType, KeptParameters])[] = [
  ['knn_graph', { k: 30, min_similarity: null }],
  ['feature_rollup', { by: ['platform', 'topic'], bucket: 'day' }],
  ['deduplication', { threshold: 0.95 }],
  ['clustering', { min_cluster_size: 5, resolution: 1 }],
]

export async function run(args: readonly string[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-analysis-'))
  try {
    for (const size of args.length === 0 ? [5000, 50_000] : args.map(Number)) await costs(folder, size)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function costs(folder: string, size: number): Promise<void> {
  const input = makeInput(size, dimensions)
  console.log(`\n${size} chunks              CPU s   times the graph    wall s   peak MB   numbers`)
  let graph = Number.NaN
  for (const [type, parameters] of jobs) {
    const startedMs = performance.now()
    const { cpuSeconds, peakBytes, numbers } = await compute(folder, type, parameters, input)
    if (type === 'knn_graph') graph = cpuSeconds
    const cells = [cpuSeconds, cpuSeconds / graph, (performance.now() - startedMs) / 1000]
    const shown = cells.map((cell, i) => cell.toFixed(2).padStart([12, 18, 10][i]!)).join('')
    console.log(
      `${type.padEnd(15)}${shown}${(peakBytes / 2 ** 20).toFixed(0).padStart(10)}   ${JSON.stringify(numbers)}`,
    )
  }
}

function compute(folder: string, type: AnalysisType, parameters: KeptParameters, input: MadeInput) {
  const { artifacts, needsVectors } = algorithms[type]
  const paths = Object.fromEntries(
    Object.keys(artifacts).map((name) => [name, join(folder, `${type}-${input.texts.length}-${name}.parquet`)]),
  )
  return computeInProcess({
    job: {
      type,
      parameters,
      rowsMax: input.texts.length,
      dimensions: needsVectors ? input.dimensions : 0,
      threads: 1,
      // The first run of a subscription writes every file.
      series: { runId: 'run_1', turn: 1, cutoffAt: 0, before: null },
      paths,
    },
    portions: portionsOf(input, needsVectors),
    signal: new AbortController().signal,
    progress: () => {},
  })
}
