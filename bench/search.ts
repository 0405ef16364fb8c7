/**
 * Searches over HTTP beside the bare index calls on a copy of the same index. The two take turns, because a machine is not
 * as fast in one second as in the next.
 *
 *   npm run bench -- search [CHUNKS…] [--seconds N]      100000 and 1000000, 3 seconds for each line, when left out
 *   npm run bench -- search CHUNKS --folder FOLDER       filled where there is nothing yet, and kept for the next run
 *
 * Queries are of three words, rare to common; vectors are the caller's own, so that embedding is measured apart. Server,
 * client and index share the machine's cores.
 */
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { builtInModels } from '../src/embedding/built-in-models.ts'
import type { SearchIndex } from '../src/search/search-index.ts'
import { indexPath } from '../src/storage/segments/file/index-files.ts'
import { openSegmentsIndex } from '../src/storage/segments/segments-index.ts'
import { parseQuery } from '../src/text/parse-query.ts'
import { drawVector, type Random, randomFrom } from './index/corpus.ts'
import { bareSearch, datasets, drawText, type Mode, modes, searches } from './search/ask.ts'
import {
  Client,
  cells,
  measure,
  measureInTurn,
  parsed,
  quantile,
  type TimedAsk,
  type Times,
  timed,
} from './search/client.ts'
import { fill } from './search/fill-folder.ts'
import { freshness } from './search/freshness.ts'
import { memoryOf } from './support/memory-of.ts'
import { adminToken, ServerProcess } from './support/server-process.ts'

let cellMs = 3000
/** For each mode, all at once, before anything is measured. */
const warmMs = 30_000

export async function run(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { seconds: { type: 'string', default: '3' }, folder: { type: 'string' } },
    allowPositionals: true,
  })
  cellMs = Number(values.seconds) * 1000
  const sizes = positionals.length === 0 ? [100_000, 1_000_000] : positionals.map(Number)
  if (!sizes.every((size) => Number.isInteger(size) && size > 0)) throw new Error('CHUNKS must be whole numbers')
  for (const size of sizes) await measureSize(size, values.folder)
}

async function measureSize(chunks: number, kept: string | undefined): Promise<void> {
  const folder = kept ?? mkdtempSync(join(tmpdir(), 'bench-search-'))
  try {
    console.log(`\n# ${chunks} chunks`)
    if (!existsSync(indexPath(folder, 1))) fill(folder, chunks)
    await compare(folder)
  } finally {
    if (kept === undefined) rmSync(folder, { recursive: true, force: true })
  }
}

async function compare(folder: string): Promise<void> {
  const copy = mkdtempSync(join(tmpdir(), 'bench-search-bare-'))
  try {
    cpSync(indexPath(folder, 1), indexPath(copy, 1))
    const index = await openSegmentsIndex({ path: indexPath(copy, 1) })
    try {
      await overHttp(folder, index)
    } finally {
      await index.close()
    }
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

function bareSearches(index: SearchIndex, mode: Mode, random: Random): TimedAsk {
  return timed(
    () => ({ query: parseQuery(drawText(random), null), vector: drawVector(random) }),
    (question) => bareSearch(index, mode, builtInModels.multilingualE5Small.id, question),
    () => {},
  )
}

async function overHttp(folder: string, index: SearchIndex): Promise<void> {
  const startedMs = performance.now()
  const server = await ServerProcess.start(folder, false)
  try {
    const startMs = performance.now() - startedMs
    const admin = new Client(server.address, adminToken)
    const made = await admin.call('POST', '/admin/v1/applications', {
      name: 'bench',
      policy: { requests_per_second: 100_000, burst: 100_000, max_in_flight: 1000 },
      entitlements: [{ datasets }],
    })
    const { api_key } = await admin.call('POST', `/admin/v1/applications/${made.application_id}/keys`, {})
    const { collector_key } = await admin.call('POST', '/admin/v1/collectors', { name: 'bench' })
    const client = new Client(server.address, api_key)
    await Promise.all(modes.map((mode) => measure(1, warmMs, searches(client, mode, true, randomFrom(10)))))
    console.log(`\n${'ms'.padEnd(43)}least     p50     p95     p99  per s`)
    for (const mode of modes) {
      // Each with questions of its own: what one has read would be at hand for the next.
      const asks = [
        bareSearches(index, mode, randomFrom(11)),
        searches(client, mode, false, randomFrom(12)),
        searches(client, mode, true, randomFrom(13)),
      ]
      show(mode, 1, await measureInTurn(asks, cellMs * asks.length))
      const times: Times[] = []
      for (const ask of asks) times.push(await measure(4, cellMs, ask))
      show(mode, 4, times)
    }
    await embedding(client)
    console.log(`\nstarted in ${startMs.toFixed(0)} ms; ${memoryOf(server.pid)}`)
    await probes(server.address, client)
    await freshness(client, new Client(server.address, collector_key))
    console.log(`at the end ${memoryOf(server.pid)}`)
  } finally {
    await server.stop()
  }
}

function show(mode: Mode, callers: number, [bare, ...overHttp]: readonly Times[]): void {
  console.log(`${`bare index, ${mode}, ${callers} at once`.padEnd(40)}${cells(bare!)}`)
  for (const [i, times] of overHttp.entries()) {
    const name = `${mode}${i === 1 ? ' with highlights' : ''}, ${callers} at once`
    const added = quantile(times.sorted, 0.5) - quantile(bare!.sorted, 0.5)
    console.log(`${`HTTP, ${name}`.padEnd(40)}${cells(times)}   ${added.toFixed(2)} above the index`)
  }
}

/** What the built-in model adds when the text of a query has to be embedded. */
async function embedding(client: Client): Promise<void> {
  const random = randomFrom(12)
  await client.call('POST', '/v1/search/vector', { query: 'first' })
  for (const mode of ['vector', 'hybrid']) {
    const ask = timed(
      () => JSON.stringify({ query: drawText(random) }),
      (body) => client.send('POST', `/v1/search/${mode}`, body),
      (answer) => void parsed(answer),
    )
    const times = await measure(1, cellMs, ask)
    console.log(`${`HTTP, ${mode}, text embedded here`.padEnd(40)}${cells(times)}`)
  }
}

async function probes(address: string, client: Client): Promise<void> {
  for (const mode of modes) {
    const probe = new Worker(new URL('./search/probe.ts', import.meta.url), { workerData: address })
    await measure(4, cellMs, searches(client, mode, true, randomFrom(13)))
    const times = new Promise<number[]>((resolve) => probe.once('message', resolve))
    probe.postMessage('stop')
    const sorted = await times
    const shown = [0.5, 0.99, 1].map((share) => quantile(sorted, share).toFixed(1))
    console.log(`/healthz while four search ${mode}: p50 ${shown[0]}, p99 ${shown[1]}, most ${shown[2]} ms`)
    await probe.terminate()
  }
}
