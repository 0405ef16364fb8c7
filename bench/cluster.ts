/**
 * Runs a deployment of several machines on this one: a process that answers requests and feeds the index, PostgreSQL,
 * and an OpenSearch cluster. Measures searches over HTTP and, in turn, the cluster's own time for the same work; how
 * fast documents are indexed, and how soon one is found; how long a process takes to start, and its memory.
 *
 *   npm run with-opensearch -- npm run bench -- cluster [--documents 20000] [--seconds 5]
 *
 * For its own time, the cluster gets the same requests, and one for the texts of 20 results, which the benchmark keeps
 * in another index. TEST_OPENSEARCH_URL names the cluster; everything created there is removed at the end. PostgreSQL
 * is started for the run. Vectors are synthetic, so that no model uses the cores.
 */
import { hash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { throwawayPostgres } from '../scripts/throwaway-postgres.ts'
import { pointerAlias } from '../src/storage/opensearch/index-names.ts'
import { OpenSearchIndex } from '../src/storage/opensearch/opensearch-index.ts'
import { parseQuery } from '../src/text/parse-query.ts'
import { FakeEmbedding, fakeProfile } from '../test/acceptance/fake-embedding.ts'
import { openSearchNodes, withoutOpenSearch } from '../test/support/opensearch-nodes.ts'
import { TextsIndex } from './cluster/texts-index.ts'
import { TimedCluster } from './cluster/timed-cluster.ts'
import { corpus, datasets, drawText, drawVector, type Random, randomFrom } from './corpus/corpus.ts'
import { titleOf } from './corpus/texts.ts'
import { bareSearch, type Mode, modes, searches } from './support/ask.ts'
import type { Client } from './support/client.ts'
import { freshness } from './support/freshness.ts'
import { cpuSeconds, memoryOf } from './support/process-figures.ts'
import { progress } from './support/progress.ts'
import { ServerProcess } from './support/server-process.ts'
import { cellHeads, cells, measureInTurn, quantile, type TimedAsk, type Times } from './support/times.ts'

const batchDocuments = 200
const aims = { addedMs: 1.5, addedShare: 0.2 }

export async function run(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: { documents: { type: 'string', default: '20000' }, seconds: { type: 'string', default: '5' } },
  })
  if (openSearchNodes === null) throw new Error(withoutOpenSearch)
  const prefix = `bench-${randomBytes(4).toString('hex')}`
  const postgres = await throwawayPostgres({ durable: true })
  const embedding = await new FakeEmbedding().start()
  embedding.vectorOf = (text) => [...drawVector(randomFrom(Number.parseInt(hash('sha256', text).slice(0, 8), 16)))]
  const env = {
    TIDEMARK_DATABASE_URL: postgres.url,
    TIDEMARK_SEARCH_URL: openSearchNodes.join(','),
    TIDEMARK_SEARCH_PREFIX: prefix,
  }
  const folder = mkdtempSync(join(tmpdir(), 'bench-cluster-'))
  try {
    const server = await ServerProcess.start(folder, { ...env, ...embedding.env })
    const { collector, consumer } = await server.prepare(datasets)
    const documents = await feed(server, collector, Number(values.documents))
    const bare = new TimedCluster(openSearchNodes[0]!)
    const texts = new TextsIndex(bare, `${prefix}-texts`)
    await texts.fill(openSearchNodes[0]!, documents)
    const index = new OpenSearchIndex({ cluster: bare, alias: pointerAlias(prefix, 'current') })
    let requests = 0
    const counted = (ask: TimedAsk) => () => {
      requests++
      return ask()
    }
    console.log(`\n${cellHeads}`)
    for (const mode of modes) {
      const asks = [
        searchesOf(index, bare, null, mode, randomFrom(11)),
        searchesOf(index, bare, texts, mode, randomFrom(12)),
        counted(searches(consumer, mode, false, randomFrom(13))),
        counted(searches(consumer, mode, true, randomFrom(14))),
      ]
      progress(`searches to warm up, ${mode}`)
      await warmUp(searches(consumer, mode, true, randomFrom(15)))
      requests = 0
      progress(`searches, ${mode}`)
      const before = cpuSeconds(server.pid)
      const times = await measureInTurn(asks, Number(values.seconds) * 1000 * asks.length)
      progress('')
      show(mode, times, bare.requests, (1000 * (cpuSeconds(server.pid) - before)) / requests)
    }
    await freshness(consumer, collector, { times: 30, searching: [0] })
    console.log(`the process that answers and indexes: ${memoryOf(server.pid)}`)
    await starts(folder, 'beside it, with all documents', { ...env, ...embedding.env, TIDEMARK_ROLES: 'api' })
    await server.stop()
    await starts(folder, 'alone, with the built-in model', { ...env, TIDEMARK_ROLES: 'api' })
  } finally {
    await embedding.stop()
    await postgres.remove()
    rmSync(folder, { recursive: true, force: true })
    const made = (await (await fetch(`${openSearchNodes[0]}/${prefix}-*`)).json()) as object
    for (const name of Object.keys(made)) await fetch(`${openSearchNodes[0]}/${name}`, { method: 'DELETE' })
  }
}

/** A process needs less and less CPU for a search until it has answered some 600, because V8 compiles its code. */
async function warmUp(ask: TimedAsk): Promise<void> {
  let left = 1000
  const caller = async (): Promise<void> => {
    while (left-- > 0) await ask()
  }
  await Promise.all(Array.from({ length: 4 }, caller))
}

/**
 * Sends documents as fast as they are accepted. Waits until keyword search and then vector search find all of them.
 * Returns them by their IDs.
 */
async function feed(server: ServerProcess, collector: Client, documents: number): Promise<Map<string, object>> {
  const startedMs = performance.now()
  const stored = new Map<string, object>()
  let batch: object[] = []
  let sent = 0
  const send = async (): Promise<void> => {
    const { results } = await collector.call('POST', '/collector/v1/documents', { documents: batch })
    for (const [i, document] of batch.entries()) stored.set(results[i].document_id, document)
    sent += batch.length
    batch = []
  }
  for (const put of corpus(Number.POSITIVE_INFINITY, false)) {
    const { columns } = put
    batch.push({
      dataset_id: columns.datasetId,
      source_platform: columns.platform,
      external_id: String(sent + batch.length),
      title: titleOf(put),
      body: put.chunks.map(({ body }) => body.terms.join(' ')).join('.\n\n'),
    })
    if (batch.length === batchDocuments || sent + batch.length === documents) await send()
    if (sent === documents) break
  }
  const rate = () => `${(documents / ((performance.now() - startedMs) / 1000)).toFixed(0)} a second`
  const storedRate = rate()
  await untilNone(server, 'pending_documents')
  const byWords = rate()
  await untilNone(server, 'pending_vectors')
  const { indexed_chunks } = await server.index()
  console.log(
    `${documents} documents, ${indexed_chunks} chunks: stored ${storedRate}, found by words ${byWords}, by vectors ${rate()}`,
  )
  return stored
}

async function untilNone(server: ServerProcess, pending: 'pending_documents' | 'pending_vectors'): Promise<void> {
  for (;;) {
    const state = await server.index()
    progress(`${state[pending]} ${pending}`)
    if (state[pending] === 0) break
    await delay(100)
  }
  progress('')
}

/** Makes the cluster's requests for a search in this mode, and with `texts` one for the texts of a page. */
function searchesOf(
  index: OpenSearchIndex,
  cluster: TimedCluster,
  texts: TextsIndex | null,
  mode: Mode,
  random: Random,
): TimedAsk {
  return async () => {
    const question = { query: parseQuery(drawText(random), null), vector: drawVector(random) }
    cluster.startTiming()
    const page = await bareSearch(index, mode, fakeProfile, question)
    await texts?.read(page)
    return cluster.busyMs
  }
}

function show(mode: Mode, [ids, bare, ...overHttp]: readonly Times[], requests: number, cpuMs: number): void {
  console.log(`${`the cluster alone, ${mode}, no texts`.padEnd(40)}${cells(ids!)}`)
  console.log(`${`the cluster alone, ${mode}`.padEnd(40)}${cells(bare!)}   ${requests} requests for the last search`)
  for (const [i, times] of overHttp.entries()) {
    const [alone, whole, withoutTexts] = [bare!, times, ids!].map(({ sorted }) => quantile(sorted, 0.5))
    const added = whole! - alone!
    const isMissed = added > aims.addedMs && added > aims.addedShare * alone!
    const share = (of: number): string => `${((100 * (whole! - of)) / of).toFixed(0)} %`
    const overhead = `${added.toFixed(2)} ms, ${share(alone!)} on top${isMissed ? '!' : ''} (of no texts ${share(withoutTexts!)})`
    console.log(`${`HTTP, ${mode}${i === 1 ? ' with highlights' : ''}`.padEnd(40)}${cells(times)}   ${overhead}`)
  }
  console.log(`${`the process's own work, ${mode}`.padEnd(40)}${cpuMs.toFixed(2).padStart(8)} ms CPU a search`)
}

/** Measures how long an `api` process takes until it is ready, and its memory then. */
async function starts(folder: string, what: string, env: Readonly<Record<string, string>>): Promise<void> {
  const startedMs = performance.now()
  const server = await ServerProcess.start(folder, env)
  const servesMs = performance.now() - startedMs
  while ((await server.admin.send('GET', '/readyz')).status !== 200) await delay(20)
  const readyMs = performance.now() - startedMs
  console.log(
    `api, ${what}: serves in ${servesMs.toFixed(0)} ms, ready in ${readyMs.toFixed(0)}; ${memoryOf(server.pid)}`,
  )
  await server.stop()
}
