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
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { fieldPermissions, type Scope } from '../src/access/scope.ts'
import { builtInModels } from '../src/embedding/built-in-models.ts'
import { searchLimits as limits } from '../src/search/limits.ts'
import { type DocumentHit, noFilters, type SearchIndex } from '../src/search/search-index.ts'
import { indexPath } from '../src/storage/segments/file/index-files.ts'
import { openSegmentsIndex } from '../src/storage/segments/segments-index.ts'
import { parseQuery } from '../src/text/parse-query.ts'
import type { KeywordQuery } from '../src/text/types.ts'
import { drawVector, type Random, randomFrom, wordOf } from './index/corpus.ts'
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
import { spell } from './search/spell.ts'
import { adminToken, ServerProcess } from './support/server-process.ts'

let cellMs = 3000
/** For each mode, all at once, before anything is measured. */
const warmMs = 30_000
const modes = ['keyword', 'vector', 'hybrid'] as const
type Mode = (typeof modes)[number]
const datasets = Array.from({ length: 100 }, (_, i) => `d${i}`)
const everything: Scope = {
  entries: [
    {
      datasets,
      platforms: null,
      languages: null,
      regions: null,
      publishedFrom: null,
      publishedTo: null,
      fields: fieldPermissions,
    },
  ],
}

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

const between = (random: Random, from: number, to: number): string =>
  spell(wordOf(Math.floor(from + random() * (to - from))))
const drawText = (random: Random): string =>
  [between(random, 50, 300), between(random, 300, 3000), between(random, 3000, 20_000)].join(' ')

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

/** The calls that a search in this mode makes, without anything around them. */
function bareSearches(index: SearchIndex, mode: Mode, random: Random): TimedAsk {
  return timed(
    () => ({ query: parseQuery(drawText(random), null), vector: drawVector(random) }),
    (question) => bareSearch(index, mode, question),
    () => {},
  )
}

interface BareQuestion {
  readonly query: KeywordQuery
  readonly vector: Float32Array
}

async function bareSearch(index: SearchIndex, mode: Mode, { query, vector }: BareQuestion): Promise<void> {
  const asked = { scope: everything, filters: noFilters, timeoutMs: 60_000 }
  const near = { profileId: builtInModels.bgeSmallEn.id, vector }
  const limit = mode === 'keyword' ? limits.resultsDefault : limits.hybridCandidatesMax
  const forVector = limits.resultsDefault * limits.vectorCandidatesPerResult
  const topK = mode === 'vector' ? forVector : limits.hybridCandidatesMax
  const [words, nearest] = await Promise.all([
    mode === 'vector' ? null : index.keyword({ ...asked, query, limit, after: null, otherChunksMax: 0 }),
    mode === 'keyword' ? null : index.vector({ ...asked, ...near, topK }),
  ])
  if (mode !== 'hybrid' || words?.outcome !== 'found' || nearest?.outcome !== 'found') return
  const idsOf = (hits: readonly DocumentHit[]) => new Set(hits.map(({ documentId }) => documentId))
  const [byWords, byVector] = [idsOf(words.hits), idsOf(nearest.hits)]
  await Promise.all([
    index.score({ ...asked, documentIds: [...byVector.difference(byWords)], query, vector: null }),
    index.score({ ...asked, documentIds: [...byWords.difference(byVector)], query: null, vector: near }),
  ])
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

function searches(client: Client, mode: Mode, include_highlights: boolean, random: Random): TimedAsk {
  return timed(
    () => {
      const query = drawText(random)
      const vector = drawVector(random)
      const query_vector = mode === 'keyword' ? undefined : [...vector].map((value) => Math.fround(value))
      return JSON.stringify({ query, query_vector, include_highlights })
    },
    (body) => client.send('POST', `/v1/search/${mode}`, body),
    (answer) => {
      const found = parsed(answer)
      if (found.degraded) throw new Error(`degraded: ${JSON.stringify(found.warnings)}`)
    },
  )
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

/** From the collector's answer to the first search that finds it. */
async function freshness(client: Client, collector: Client): Promise<void> {
  let number = 0
  const once = async (): Promise<number> => {
    const word = `fresh${Date.now().toString(36)}x${++number}`
    const document = {
      dataset_id: 'd1',
      source_platform: 'p1',
      external_id: word,
      title: word,
      body: `Here is ${word}.`,
    }
    await collector.call('POST', '/collector/v1/documents', { documents: [document] })
    const at = performance.now()
    for (;;) {
      const found = await client.call('POST', '/v1/search/keyword', { query: word, limit: 1 })
      if (found.results.length > 0) return performance.now() - at
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }
  for (const loaded of [false, true]) {
    let stop = false
    const ask = searches(client, 'hybrid', false, randomFrom(14))
    const load = Array.from({ length: loaded ? 4 : 0 }, async () => {
      while (!stop) await ask()
    })
    const times: number[] = []
    for (let i = 0; i < 100; i++) times.push(await once())
    stop = true
    await Promise.all(load)
    times.sort((a, b) => a - b)
    const shown = [0.5, 0.99].map((share) => quantile(times, share).toFixed(0))
    console.log(`acknowledged to found, ${loaded ? 'four search hybrid' : 'idle'}: p50 ${shown[0]}, p99 ${shown[1]} ms`)
  }
}

/** Of the process and its children, as Linux tells it: what is theirs alone and what they share in memory. */
function memoryOf(pid: number): string {
  try {
    const parts = [pid, ...childrenOf(pid)].map((one) => {
      const status = readFileSync(`/proc/${one}/status`, 'utf8')
      const kilobytes = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0)
      return (kilobytes('RssAnon') + kilobytes('RssShmem')) / 1024
    })
    const [own = 0, ...others] = parts
    const model = others.reduce((sum, one) => sum + one, 0)
    return `memory ${(own + model).toFixed(0)} MB: server ${own.toFixed(0)}, model process ${model.toFixed(0)}`
  } catch {
    return 'memory unknown on this system'
  }
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number),
  )
}
