/**
 * A dataset is deleted with all its documents while somebody else reads another: how much longer those reads take
 * meanwhile, and how the server's memory grows.
 *
 *   npm run bench -- erase [--erased 20000,1000000] [--read 5000] [--keep FOLDER]
 *
 * The server is a whole one, but without vectors, whose making would take longer than all the rest. The reader asks for a
 * document and a keyword search in turn. Beside the deletion it is probed until the erasure is `completed`: hidden,
 * removed, purged from the index, and overwritten. Aim: 1.2 times.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { documentLine } from './support/documents.ts'
import { linesNowAndThen } from './support/lines-now-and-then.ts'
import { percentile } from './support/percentile.ts'
import { adminToken, ServerProcess } from './support/server-process.ts'

const probeEveryMs = 5
const probesAlone = 1000
const batchDocuments = 500
const senders = 4

export async function run(args: readonly string[]): Promise<void> {
  const options = {
    erased: { type: 'string', default: '20000,1000000' },
    read: { type: 'string', default: '5000' },
    keep: { type: 'string' },
  } as const
  const { values } = parseArgs({ args: [...args], options })
  process.env.TIDEMARK_EMBEDDING_URL = 'http://127.0.0.1:9/v1'
  process.env.TIDEMARK_EMBEDDING_MODEL = 'none'
  for (const erased of values.erased.split(',').map(Number)) {
    const folder = values.keep ?? mkdtempSync(join(tmpdir(), 'tidemark-bench-'))
    mkdirSync(folder, { recursive: true })
    const server = await ServerProcess.start(folder, false)
    try {
      await measure(server, erased, Number(values.read))
    } finally {
      await server.stop()
      if (values.keep === undefined) rmSync(folder, { recursive: true })
    }
  }
}

async function measure(server: ServerProcess, erased: number, read: number): Promise<void> {
  const keys = await server.prepare()
  const { documents: before } = await server.index()
  await server.call(adminToken, 'PUT', '/admin/v1/datasets/gone', '{"name":"gone"}')
  const report = linesNowAndThen()
  await send(server, keys.collector, 'gone', erased, (sent) => report(`${sent} of ${erased} documents are sent in`))
  await send(server, keys.collector, 'bench', read)
  for (let indexed = 0; indexed < before + erased + read; await delay(200)) {
    indexed = (await server.index()).documents
    report(`${indexed - before} of ${erased + read} documents are indexed`)
  }

  const probe = await prober(server, keys.consumer)
  const alone: number[] = []
  while (alone.length < probesAlone) alone.push(await probe())
  const restingMb = (await server.memory())?.anonymousMb ?? Number.NaN

  const startedMs = performance.now()
  await server.call(adminToken, 'DELETE', '/admin/v1/datasets/gone?force=true')
  const seconds = () => (performance.now() - startedMs) / 1000
  let mostMb = restingMb
  let done = false
  const watching = (async () => {
    while (!done) {
      const { erasures } = JSON.parse(await server.call(adminToken, 'GET', '/admin/v1/erasures?limit=1'))
      done = erasures[0].status !== 'running'
      report(
        `${erasures[0].documents} of ${erased} documents are hidden, ${seconds().toFixed(0)} s after the deletion began`,
      )
      mostMb = Math.max(mostMb, (await server.memory())?.anonymousMb ?? Number.NaN)
      await delay(100)
    }
  })()
  const beside: number[] = []
  while (!done) beside.push(await probe())
  await watching
  const took = seconds()
  const share = (part: number) => {
    const [one, other] = [percentile(alone, part), percentile(beside, part)]
    return `${one.toFixed(1)} ms alone, ${other.toFixed(1)} ms beside it: ${(other / one).toFixed(2)} times`
  }
  console.log(
    `${erased} documents erased with their dataset in ${took.toFixed(0)} s (${(erased / took).toFixed(0)}/s); ` +
      `${beside.length} reads of another dataset (aim 1.2 times): p50 ${share(0.5)}; p99 ${share(0.99)}; ` +
      `memory grew by ${(mostMb - restingMb).toFixed(0)} MB`,
  )
}

/** Documents `0` to `count` of a dataset, in batches, some at once. */
async function send(
  server: ServerProcess,
  key: string,
  dataset: string,
  count: number,
  sent: (documents: number) => void = () => {},
): Promise<void> {
  let next = 0
  await Promise.all(
    Array.from({ length: senders }, async () => {
      for (let from = next; from < count; from = next) {
        next += batchDocuments
        const lines = Array.from({ length: Math.min(batchDocuments, count - from) }, (_, i) => documentLine(from + i))
        const documents = lines.map((line) => line.replace('"dataset_id":"bench"', `"dataset_id":"${dataset}"`))
        const said = await server.call(key, 'POST', '/collector/v1/documents', `{"documents":[${documents.join()}]}`)
        if (said.includes('"error"')) throw new Error(said.slice(0, 1000))
        sent(from)
      }
    }),
  )
}

/** Somebody who reads a document, then searches, and rests for a moment. Gives the milliseconds of each pair. */
async function prober(server: ServerProcess, key: string): Promise<() => Promise<number>> {
  const [, line] = (await server.call(key, 'GET', '/v1/export?limit=1')).split('\n')
  const path = `/v1/documents/${JSON.parse(line!).document.id}`
  const query = JSON.stringify({ query: 'harbour treaty', datasets: ['bench'], limit: 10 })
  return async () => {
    const startedMs = performance.now()
    await server.call(key, 'GET', path)
    await server.call(key, 'POST', '/v1/search/keyword', query)
    const tookMs = performance.now() - startedMs
    await delay(probeEveryMs)
    return tookMs
  }
}
