/**
 * Searches over HTTP beside the bare index calls on the same index.
 *
 *   npm run bench -- search [CHUNKS…] [--seconds N]      100000 and 1000000, 3 seconds for each line, when left out
 *   npm run bench -- search CHUNKS --folder FOLDER       filled where there is nothing yet, and kept for the next run
 *
 * Queries are of three words, rare to common; vectors are the caller's own, so that embedding is measured apart. Server,
 * client and index share the machine's cores.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { fieldPermissions, type Scope } from '../src/access/scope.ts'
import { builtInProfile } from '../src/embedding/built-in-profile.ts'
import { searchLimits as limits } from '../src/search/limits.ts'
import { noFilters, type SearchIndex } from '../src/search/search-index.ts'
import { indexPath } from '../src/storage/segments/index-files.ts'
import { openSegmentsIndex } from '../src/storage/segments/segments-index.ts'
import { parseQuery } from '../src/text/parse-query.ts'
import { drawVector, type Random, randomFrom, wordOf } from './index/corpus.ts'
import { Client, cells, measure, quantile } from './search/client.ts'
import { spell } from './search/spell.ts'

const adminToken = 'tma_bench-only-0123456789'
let cellMs = 3000
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
    console.log(`\n${'ms'.padEnd(43)}least     p50     p95     p99  per s`)
    const bare = await bareIndex(folder)
    await overHttp(folder, bare)
  } finally {
    if (kept === undefined) rmSync(folder, { recursive: true, force: true })
  }
}

/** In another process, so that its memory is not ours. */
function fill(folder: string, chunks: number): void {
  const startedMs = performance.now()
  const script = new URL('./search/fill.ts', import.meta.url).pathname
  if (spawnSync(process.execPath, [script, folder, String(chunks)], { stdio: 'inherit' }).status !== 0) {
    throw new Error('the store could not be filled')
  }
  console.log(`filled in ${((performance.now() - startedMs) / 1000).toFixed(0)} s`)
}

const between = (random: Random, from: number, to: number): string =>
  spell(wordOf(Math.floor(from + random() * (to - from))))
const drawText = (random: Random): string =>
  [between(random, 50, 300), between(random, 300, 3000), between(random, 3000, 20_000)].join(' ')

async function bareIndex(folder: string): Promise<Map<string, number>> {
  const index = await openSegmentsIndex({ path: indexPath(folder, 1) })
  const p50 = new Map<string, number>()
  try {
    for (const mode of modes) {
      for (const callers of [1, 4]) {
        const random = randomFrom(11)
        const times = await measure(callers, cellMs, () => bareSearch(index, mode, random))
        p50.set(`${mode} ${callers}`, quantile(times.sorted, 0.5))
        console.log(`${`bare index, ${mode}, ${callers} at once`.padEnd(40)}${cells(times)}`)
      }
    }
  } finally {
    await index.close()
  }
  return p50
}

/** The calls that a search in this mode makes, without anything around them. */
async function bareSearch(index: SearchIndex, mode: Mode, random: Random): Promise<void> {
  const asked = { scope: everything, filters: noFilters, timeoutMs: 60_000 }
  const query = parseQuery(drawText(random), null)
  const near = { profileId: builtInProfile.id, vector: drawVector(random) }
  const limit = mode === 'keyword' ? limits.resultsDefault : limits.hybridCandidatesMax
  const topK = mode === 'vector' ? limits.vectorCandidatesMax : limits.hybridCandidatesMax
  const [keyword, vector] = await Promise.all([
    mode === 'vector' ? null : index.keyword({ ...asked, query, limit, after: null, otherChunksMax: 0 }),
    mode === 'keyword' ? null : index.vector({ ...asked, ...near, topK }),
  ])
  if (mode !== 'hybrid' || keyword?.outcome !== 'found' || vector?.outcome !== 'found') return
  const documentIds = [...new Set([...keyword.hits, ...vector.hits].map(({ documentId }) => documentId))]
  await index.score({ ...asked, documentIds, query, vector: near })
}

async function overHttp(folder: string, bare: ReadonlyMap<string, number>): Promise<void> {
  const startedMs = performance.now()
  const server = await startServer(folder)
  try {
    const startMs = performance.now() - startedMs
    const admin = new Client(server.address, adminToken)
    const made = await admin.call('POST', '/admin/v1/applications', {
      name: 'bench',
      policy: { requests_per_second: 100_000, burst: 100_000 },
      entitlements: [{ datasets }],
    })
    const { api_key } = await admin.call('POST', `/admin/v1/applications/${made.application_id}/keys`, {})
    const { collector_key } = await admin.call('POST', '/admin/v1/collectors', { name: 'bench' })
    const client = new Client(server.address, api_key)
    for (const mode of modes) {
      for (const highlights of [false, true]) {
        for (const callers of [1, 4]) {
          const random = randomFrom(11)
          const times = await measure(callers, cellMs, () => search(client, mode, highlights, random))
          const name = `${mode}${highlights ? ' with highlights' : ''}, ${callers} at once`
          const added = quantile(times.sorted, 0.5) - bare.get(`${mode} ${callers}`)!
          console.log(`${`HTTP, ${name}`.padEnd(40)}${cells(times)}   ${added.toFixed(2)} above the index`)
        }
      }
    }
    await embedding(client)
    console.log(`\nstarted in ${startMs.toFixed(0)} ms; ${memoryOf(server.child.pid!)}`)
    await probes(server.address, client)
    await freshness(client, new Client(server.address, collector_key))
    console.log(`at the end ${memoryOf(server.child.pid!)}`)
  } finally {
    server.child.kill('SIGTERM')
    await new Promise((resolve) => server.child.once('close', resolve))
  }
}

async function search(client: Client, mode: Mode, include_highlights: boolean, random: Random): Promise<void> {
  const query = drawText(random)
  const vector = drawVector(random)
  const query_vector = mode === 'keyword' ? undefined : [...vector].map((value) => Math.fround(value))
  const found = await client.call('POST', `/v1/search/${mode}`, { query, query_vector, include_highlights })
  if (found.degraded) throw new Error(`degraded: ${JSON.stringify(found.warnings)}`)
}

/** What the built-in model adds when the text of a query has to be embedded. */
async function embedding(client: Client): Promise<void> {
  const random = randomFrom(12)
  await client.call('POST', '/v1/search/vector', { query: 'first' })
  for (const mode of ['vector', 'hybrid']) {
    const times = await measure(1, cellMs, async () => {
      await client.call('POST', `/v1/search/${mode}`, { query: drawText(random) })
    })
    console.log(`${`HTTP, ${mode}, text embedded here`.padEnd(40)}${cells(times)}`)
  }
}

async function probes(address: string, client: Client): Promise<void> {
  for (const mode of modes) {
    const random = randomFrom(13)
    const probe = new Worker(new URL('./search/probe.ts', import.meta.url), { workerData: address })
    await measure(4, cellMs, () => search(client, mode, true, random))
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
    const random = randomFrom(14)
    const load = Array.from({ length: loaded ? 4 : 0 }, async () => {
      while (!stop) await search(client, 'hybrid', false, random)
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

async function startServer(folder: string): Promise<{ child: ChildProcess; address: string }> {
  const main = new URL('../src/main.ts', import.meta.url).pathname
  const env = { ...process.env, TIDEMARK_DATA_DIR: folder, TIDEMARK_PORT: '0', TIDEMARK_ADMIN_TOKEN: adminToken }
  const child = spawn(process.execPath, [main, 'serve'], {
    env: { ...env, TIDEMARK_LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const address = await new Promise<string>((resolve, reject) => {
    let printed = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      printed += text
      const found = /^Tidemark serves (http:\S+)$/m.exec(printed)
      if (found !== null) resolve(found[1]!)
    })
    child.once('close', (code) => reject(new Error(`the server ended with code ${code}`)))
  })
  return { child, address }
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
