/**
 * What each type of analysis costs beside the neighbour graph of the same input, d = 384, one thread: CPU, wall time and
 * memory of the whole process with its files. And how good topics are beside the oracles of PyPI.
 *
 *   npm run bench -- analysis [5000,50000]
 *   npm run bench -- analysis --python PATH [--vectors FILE.f32 --labels FILE.json]
 *
 * `--python` names an interpreter with scikit-learn, leidenalg, pyarrow, pandas, polars and duckdb. It measures adjusted
 * mutual information on generated mixtures, and on vectors of one's own (32-bit floats, row by row, with a JSON list of
 * classes), and whether the four readers open the files of every type.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import type { AnalysisType } from '../src/access/analysis-types.ts'
import type { KeptParameters } from '../src/analysis/algorithm.ts'
import { algorithms } from '../src/analysis/algorithms.ts'
import { computeInProcess } from '../src/analysis/compute/compute-in-process.ts'
import { type MadeInput, makeInput, portionsOf } from './analysis/make-input.ts'

const execute = promisify(execFile)
const dimensions = 384
const oracles = new URL('./analysis/oracles.py', import.meta.url).pathname
const readers = new URL('./analysis/readers.py', import.meta.url).pathname
const folder = mkdtempSync(join(tmpdir(), 'tidemark-analysis-'))
let made = 0

const jobs: readonly (readonly [AnalysisType, KeptParameters])[] = [
  ['knn_graph', { k: 30, min_similarity: null }],
  ['feature_rollup', { by: ['platform', 'topic'], bucket: 'day' }],
  ['deduplication', { threshold: 0.95 }],
  ['clustering', { min_cluster_size: 5, resolution: 1 }],
]

async function compute(type: AnalysisType, parameters: KeptParameters, input: MadeInput) {
  const { artifacts, needsVectors } = algorithms[type]
  const paths = Object.fromEntries(
    Object.keys(artifacts).map((name) => [name, join(folder, `${made++}-${name}.parquet`)]),
  )
  const started = performance.now()
  const computed = await computeInProcess({
    job: {
      type,
      parameters,
      rowsMax: input.texts.length,
      dimensions: needsVectors ? input.dimensions : 0,
      threads: 1,
      // The first of its series, so that there is every file.
      series: { runId: 'run_1', turn: 1, cutoffAt: 0, before: null },
      paths,
    },
    portions: portionsOf(input, needsVectors),
    signal: new AbortController().signal,
    progress: () => {},
  })
  return { ...computed, paths, wallSeconds: (performance.now() - started) / 1000 }
}

export async function run(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { python: { type: 'string' }, vectors: { type: 'string' }, labels: { type: 'string' } },
  })
  try {
    if (values.python !== undefined) {
      await quality(values.python, values)
      return await opened(values.python)
    }
    for (const size of (positionals[0] ?? '5000,50000').split(',').map(Number)) await costs(size)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function costs(size: number): Promise<void> {
  const input = makeInput(size, dimensions)
  console.log(`${size} chunks of ${dimensions} dimensions and 200 words, one thread; CPU seconds`)
  console.log('type            CPU     times the graph  wall    peak memory  numbers')
  let graph = 0
  for (const [type, parameters] of jobs) {
    const { cpuSeconds, peakBytes, wallSeconds, numbers } = await compute(type, parameters, input)
    if (type === 'knn_graph') graph = cpuSeconds
    const cells = [
      cpuSeconds.toFixed(2).padEnd(7),
      (cpuSeconds / graph).toFixed(2).padEnd(16),
      wallSeconds.toFixed(2).padEnd(7),
    ]
    const memory = `${Math.round(peakBytes / 2 ** 20)} MB`.padEnd(12)
    console.log(`${type.padEnd(15)} ${cells.join(' ')} ${memory} ${JSON.stringify(numbers)}`)
  }
}

/** Topics as ours finds them go to the script, which knows the classes and asks the oracles. */
async function quality(
  python: string,
  own: { vectors?: string | undefined; labels?: string | undefined },
): Promise<void> {
  const sets = own.vectors === undefined ? ['wide', 'narrow'] : ['own']
  for (const set of sets) {
    const at = (name: string) => join(folder, `${set}-${name}`)
    const files = own.vectors === undefined ? [at('vectors'), at('classes')] : [own.vectors, own.labels!]
    if (own.vectors === undefined) await execute(python, [oracles, 'make', set, ...files])
    const bytes = readFileSync(files[0]!)
    const vectors = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length))
    const count = (JSON.parse(readFileSync(files[1]!, 'utf8')) as unknown[]).length
    const { documents } = makeInput(count, 1)
    const input = { vectors, dimensions: vectors.length / count, texts: documents.map(() => ''), documents }
    const { paths } = await compute('clustering', { min_cluster_size: 5, resolution: 1 }, input)
    const file = readFileSync(paths.assignments!)
    const rows = await parquetReadObjects({
      file: file.buffer.slice(file.byteOffset, file.byteOffset + file.length) as ArrayBuffer,
      compressors,
    })
    writeFileSync(at('found'), JSON.stringify(rows.map(({ cluster_id }) => cluster_id)))
    const { stdout } = await execute(python, [oracles, 'compare', set, ...files, at('found')])
    console.log(stdout.trimEnd())
  }
}

async function opened(python: string): Promise<void> {
  const input = makeInput(1000, dimensions)
  for (const [type, parameters] of jobs) {
    const { files, paths } = await compute(type, parameters, input)
    for (const [name, path] of Object.entries(paths)) {
      const { stdout } = await execute(python, [readers, path, String(files[name]!.rows)])
      console.log(`${type} ${name}: ${stdout.trim()}`)
    }
  }
}
