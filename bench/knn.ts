/**
 * The exact graph of N nodes, d = 384, k = 30, one thread: CPU, wall time and memory of the whole process with its file,
 * beside a bare matrix product of the same size in a process of its own; how requests fare meanwhile; whether two
 * readers of Parquet agree on the file, and whether the same input gives the same bytes.
 *
 *   npm run bench -- knn [1000,5000,20000,50000] [--python PATH] [--thousands 200 --dimensions 1024]
 *
 * `--python` names an interpreter with pyarrow; without one only the JavaScript reader looks at the file.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { computeInProcess } from '../src/analysis/compute/compute-in-process.ts'
import { freshFolder, startServer } from '../test/acceptance/harness.ts'
import { dataset, makeStore, profileId } from './knn/make-store.ts'
import { makeVectors, portionsOf } from './knn/nodes.ts'

const execute = promisify(execFile)
const k = 30
/** A run of this size takes about as long as the requests that are timed beside it. */
const requestsSizeMax = 20_000
const folder = mkdtempSync(join(tmpdir(), 'tidemark-knn-'))
let made = 0

async function graph(vectors: Float32Array, dimensions: number, threads = 1) {
  const path = join(folder, `${made++}.parquet`)
  const started = performance.now()
  const { files, numbers, ...cost } = await computeInProcess({
    job: {
      type: 'knn_graph',
      parameters: { k, min_similarity: null },
      rowsMax: vectors.length / dimensions,
      dimensions,
      threads,
      series: null,
      paths: { edges: path },
    },
    portions: portionsOf(vectors, dimensions),
    signal: new AbortController().signal,
    progress: () => {},
  })
  return { ...cost, ...files.edges!, redone: numbers.redone!, path, wallSeconds: (performance.now() - started) / 1000 }
}

const bareProduct = new URL('./knn/bare-product.ts', import.meta.url)
const ask = new URL('./knn/ask.ts', import.meta.url)
const digestParquet = new URL('./knn/digest-parquet.py', import.meta.url)
async function inProcess(script: URL, ...args: readonly (string | number)[]) {
  const { stdout } = await execute(process.execPath, [script.pathname, ...args.map(String)])
  return JSON.parse(stdout)
}

const two = (value: number): string => value.toFixed(2)
const megabytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MB`

export async function run(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      python: { type: 'string' },
      thousands: { type: 'string' },
      dimensions: { type: 'string', default: '384' },
    },
  })
  try {
    if (values.thousands !== undefined) return await memory(Number(values.thousands) * 1000, Number(values.dimensions))
    const sizes = (positionals[0] ?? '1000,5000,20000,50000').split(',').map(Number)
    await table(sizes, Number(values.dimensions))
    await identical(5000, Number(values.dimensions), values.python)
    if (Number(values.dimensions) === 384) await requests(Math.min(requestsSizeMax, Math.max(...sizes)), 384)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Whole run and bare product in turn, so that whatever else the machine does falls on both alike. */
async function table(sizes: readonly number[], dimensions: number): Promise<void> {
  console.log(`d = ${dimensions}, k = ${k}, one thread; CPU seconds`)
  console.log('N       bare product  whole run  ratio  wall   peak memory  file      edges     rows done again')
  const cpu: number[] = []
  for (const size of sizes) {
    const vectors = makeVectors(size, dimensions)
    const bare = await inProcess(bareProduct, size, dimensions)
    const whole = await graph(vectors, dimensions)
    cpu.push(whole.cpuSeconds)
    console.log(
      [
        String(size).padEnd(7),
        two(bare.cpuSeconds).padEnd(13),
        two(whole.cpuSeconds).padEnd(10),
        two(whole.cpuSeconds / bare.cpuSeconds).padEnd(6),
        two(whole.wallSeconds).padEnd(6),
        megabytes(whole.peakBytes).padEnd(12),
        megabytes(whole.bytes).padEnd(9),
        String(whole.rows).padEnd(9),
        whole.redone,
      ].join(' '),
    )
  }
  const [small, large] = [sizes.indexOf(5000), sizes.indexOf(50_000)]
  if (small >= 0 && large >= 0) console.log(`growth from 5000 to 50000: ${two(cpu[large]! / cpu[small]!)} times`)
}

async function identical(size: number, dimensions: number, python: string | undefined): Promise<void> {
  const vectors = makeVectors(size, dimensions)
  const [one, again, twoThreads] = [
    await graph(vectors, dimensions),
    await graph(vectors, dimensions),
    await graph(vectors, dimensions, 2),
  ]
  console.log(`the same input again: ${one.sha256 === again.sha256 ? 'the same bytes' : 'OTHER BYTES'}`)
  console.log(`with two threads: ${one.sha256 === twoThreads.sha256 ? 'the same bytes' : 'OTHER BYTES'}`)
  const ours = await digest(one.path)
  if (python === undefined) return console.log(`read by hyparquet: ${ours}`)
  const { stdout } = await execute(python, [digestParquet.pathname, one.path])
  console.log(`read by hyparquet and by pyarrow: ${stdout.trim() === ours ? 'equal' : 'NOT EQUAL'}, ${ours}`)
}

async function digest(path: string): Promise<string> {
  const bytes = readFileSync(path)
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer
  const rows = await parquetReadObjects({ file, compressors })
  const hash = createHash('sha256').update(Object.keys(rows[0] ?? {}).join('\t'))
  const number = Buffer.alloc(8)
  for (const row of rows) {
    const values = Object.values(row)
    number.writeDoubleLE(values.pop())
    hash.update(values.join('\t')).update(number)
  }
  return `${rows.length} ${hash.digest('hex')}`
}

/** A graph as a run of a real server, whose other requests come from a third process. */
async function requests(size: number, dimensions: number): Promise<void> {
  const dataDir = freshFolder()
  await makeStore(dataDir, makeVectors(size, dimensions), dimensions)
  const server = await startServer({ dataDir, env: { TIDEMARK_LOG_LEVEL: 'warn' } })
  const { key } = await server.makeApplication({
    entitlements: [{ datasets: [dataset] }],
    policy: { analysis_enabled: true, analysis: { max_input_chunks: size } },
  })
  while ((await server.mustAdmin('GET', '/admin/v1/indexing')).pending_chunks > 0) {
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
  const say = (when: string, { requests: count, p50, p99, max }: Record<string, number>) =>
    console.log(`requests ${when}: p50 ${two(p50!)} ms, p99 ${two(p99!)} ms, most ${two(max!)} ms, of ${count}`)
  const askSeconds = 12
  say('with nothing else', await inProcess(ask, server.address, key, askSeconds))
  const started = performance.now()
  const { body } = await server.consumer(key, 'POST', '/v1/analysis/runs', {
    analysis_type: 'knn_graph',
    embedding_profile_id: profileId,
    input_scope: { dataset_ids: [dataset] },
  })
  const asked = inProcess(ask, server.address, key, askSeconds)
  let { status } = body
  while (!['succeeded', 'failed'].includes(status)) {
    await new Promise((resolve) => setTimeout(resolve, 200))
    status = (await server.consumer(key, 'GET', `/v1/analysis/runs/${body.run_id}`)).body.status
  }
  const took = two((performance.now() - started) / 1000)
  say(`while a run of ${size} chunks is executed`, await asked)
  console.log(`that run over HTTP: ${status} after ${took} s`)
  await server.stop()
}

async function memory(size: number, dimensions: number): Promise<void> {
  const whole = await graph(makeVectors(size, dimensions), dimensions, 2)
  console.log(
    `${size} nodes of ${dimensions} dimensions: peak memory ${megabytes(whole.peakBytes)}, CPU ${two(whole.cpuSeconds)} s, wall ${two(whole.wallSeconds)} s, ${whole.rows} edges`,
  )
}
