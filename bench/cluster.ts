/**
 * The layout of several machines on this one: a process that answers and feeds, PostgreSQL, and a cluster that has the search
 * index. Searches over HTTP beside the cluster's own time for the same work, taking turns: the same requests, and the texts of
 * 20 results, which an index of the bench's own has; how soon a document is found; how fast documents are fed; what a process
 * takes to start, and in memory.
 *
 *   npm run with-opensearch -- npm run bench -- cluster [--documents 20000] [--seconds 5]
 *
 * TEST_OPENSEARCH_URL names the cluster; what this makes there is removed at the end. PostgreSQL is made for the run. Vectors
 * are made up: no model takes the processors from what is measured.
 */
import { hash, randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { throwawayPostgres } from '../scripts/throwaway-postgres.ts'
import { pointerAlias } from '../src/storage/opensearch/index-names.ts'
import { OpenSearchIndex } from '../src/storage/opensearch/opensearch-index.ts'
import { parseQuery } from '../src/text/parse-query.ts'
import { FakeEmbedding, fakeProfile } from '../test/acceptance/fake-embedding.ts'
import { startServer, type TestServer } from '../test/acceptance/harness.ts'
import { openSearchNodes, withoutOpenSearch } from '../test/support/opensearch-nodes.ts'
import { cpuSeconds } from './account/load.ts'
import { TextsIndex } from './cluster/texts-index.ts'
import { TimedCluster } from './cluster/timed-cluster.ts'
import { corpus, drawVector, type Random, randomFrom } from './index/corpus.ts'
import { bareSearch, datasets, drawText, type Mode, modes, searches } from './search/ask.ts'
import { Client, cells, measureInTurn, quantile, type TimedAsk, type Times } from './search/client.ts'
import { freshness } from './search/freshness.ts'
import { spell } from './search/spell.ts'
import { memoryOf } from './support/memory-of.ts'
import { progress } from './support/progress.ts'

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
    TIDEMARK_LOG_LEVEL: 'error',
  }
  try {
    const server = await startServer({ env: { ...env, ...embedding.env }, dropLog: true })
    const key = await prepare(server)
    const documents = await feed(server, Number(values.documents))
    const bare = new TimedCluster(openSearchNodes[0]!)
    const texts = new TextsIndex(bare, `${prefix}-texts`)
    await texts.fill(openSearchNodes[0]!, documents)
    const index = new OpenSearchIndex({ cluster: bare, alias: pointerAlias(prefix, 'current') })
    const client = new Client(server.address, key)
    let requests = 0
    const counted = (ask: TimedAsk) => () => {
      requests++
      return ask()
    }
    console.log(`\n${'ms'.padEnd(43)}least     p50     p95     p99  per s`)
    for (const mode of modes) {
      const asks = [
        searchesOf(index, bare, null, mode, randomFrom(11)),
        searchesOf(index, bare, texts, mode, randomFrom(12)),
        counted(searches(client, mode, false, randomFrom(13))),
        counted(searches(client, mode, true, randomFrom(14))),
      ]
      progress(`searches to warm up, ${mode}`)
      await warmUp(searches(client, mode, true, randomFrom(15)))
      requests = 0
      progress(`searches, ${mode}`)
      const before = cpuSeconds(server.pid)
      const times = await measureInTurn(asks, Number(values.seconds) * 1000 * asks.length)
      progress('')
      show(mode, times, bare.requests, (1000 * (cpuSeconds(server.pid) - before)) / requests)
    }
    const { key: collector } = await server.makeCollector({ datasets })
    progress('documents that are to be found')
    await freshness(client, new Client(server.address, collector), { times: 30, searching: [0] })
    console.log(`the process that answers and feeds: ${memoryOf(server.pid)}`)
    await starts('beside it, all documents there', { ...env, ...embedding.env, TIDEMARK_ROLES: 'api' })
    await server.stop()
    await starts('alone, with the built-in model', { ...env, TIDEMARK_ROLES: 'api' })
  } finally {
    await embedding.stop()
    await postgres.remove()
    const made = (await (await fetch(`${openSearchNodes[0]}/${prefix}-*`)).json()) as object
    for (const name of Object.keys(made)) await fetch(`${openSearchNodes[0]}/${name}`, { method: 'DELETE' })
  }
}

/** A process takes less and less CPU for a search until it has made some 600: 7.7 ms by words after 40, 5.1 then. */
async function warmUp(ask: TimedAsk): Promise<void> {
  let left = 1000
  const caller = async (): Promise<void> => {
    while (left-- > 0) await ask()
  }
  await Promise.all(Array.from({ length: 4 }, caller))
}

async function prepare(server: TestServer): Promise<string> {
  for (const dataset of datasets) await server.makeDataset(dataset)
  const { key } = await server.makeApplication({
    policy: { requests_per_second: 100_000, burst: 100_000, max_in_flight: 1000 },
    entitlements: [{ datasets }],
  })
  return key
}

/** Sends them as fast as they are taken, and waits until all are found by their words, then by vectors. Returns them by their ids. */
async function feed(server: TestServer, documents: number): Promise<Map<string, object>> {
  const { key } = await server.makeCollector({ datasets })
  const startedMs = performance.now()
  const stored = new Map<string, object>()
  let batch: object[] = []
  let sent = 0
  const send = async (): Promise<void> => {
    const answer = await server.collector(key, 'POST', '/collector/v1/documents', { documents: batch })
    if (answer.status !== 200) throw new Error(answer.text)
    for (const [i, document] of batch.entries()) stored.set(answer.body.results[i].document_id, document)
    sent += batch.length
    batch = []
  }
  for (const { columns, title, chunks } of corpus(Number.POSITIVE_INFINITY, false)) {
    batch.push({
      dataset_id: columns.datasetId,
      source_platform: columns.platform,
      external_id: String(sent + batch.length),
      title: title.terms.map(spell).join(' '),
      body: chunks.map(({ body }) => body.terms.map(spell).join(' ')).join('.\n\n'),
    })
    if (batch.length === batchDocuments || sent + batch.length === documents) await send()
    if (sent === documents) break
  }
  const rate = () => `${(documents / ((performance.now() - startedMs) / 1000)).toFixed(0)} a second`
  const storedRate = rate()
  await untilNone(server, 'pending_documents')
  const byWords = rate()
  await untilNone(server, 'pending_vectors')
  const { indexed_chunks } = await server.mustAdmin('GET', '/admin/v1/indexing')
  console.log(
    `${documents} documents, ${indexed_chunks} chunks: stored ${storedRate}, found by words ${byWords}, by vectors ${rate()}`,
  )
  return stored
}

async function untilNone(server: TestServer, pending: 'pending_documents' | 'pending_vectors'): Promise<void> {
  for (;;) {
    const state = await server.mustAdmin('GET', '/admin/v1/indexing')
    progress(`${state[pending]} ${pending}`)
    if (state[pending] === 0) break
    await sleep(100)
  }
  progress('')
}

/**
 * The time in which the cluster was asked something, of all that a search in this mode asks of it, and of a page's texts if
 * they are wanted; without what makes the requests.
 */
function searchesOf(
  index: OpenSearchIndex,
  cluster: TimedCluster,
  texts: TextsIndex | null,
  mode: Mode,
  random: Random,
): TimedAsk {
  return async () => {
    const question = { query: parseQuery(drawText(random), null), vector: drawVector(random) }
    cluster.begin()
    const page = await bareSearch(index, mode, fakeProfile, question)
    await texts?.read(page)
    return cluster.askedMs
  }
}

function show(mode: Mode, [ids, bare, ...overHttp]: readonly Times[], asked: number, cpuMs: number): void {
  console.log(`${`the cluster alone, ${mode}, no texts`.padEnd(40)}${cells(ids!)}`)
  console.log(`${`the cluster alone, ${mode}`.padEnd(40)}${cells(bare!)}   ${asked} requests for the last search`)
  for (const [i, times] of overHttp.entries()) {
    const [alone, whole, withoutTexts] = [bare!, times, ids!].map(({ sorted }) => quantile(sorted, 0.5))
    const added = whole! - alone!
    const isMissed = added > aims.addedMs && added > aims.addedShare * alone!
    const share = (of: number): string => `${((100 * (whole! - of)) / of).toFixed(0)} %`
    const told = `${added.toFixed(2)} ms, ${share(alone!)} on top${isMissed ? '!' : ''} (of no texts ${share(withoutTexts!)})`
    console.log(`${`HTTP, ${mode}${i === 1 ? ' with highlights' : ''}`.padEnd(40)}${cells(times)}   ${told}`)
  }
  console.log(`${`the process's own work, ${mode}`.padEnd(40)}${cpuMs.toFixed(2).padStart(8)} ms CPU a search`)
}

/** A process that only answers: how long until it says that it is ready, and what it takes then. */
async function starts(what: string, env: Readonly<Record<string, string>>): Promise<void> {
  const startedMs = performance.now()
  const server = await startServer({ env, dropLog: true })
  const servesMs = performance.now() - startedMs
  while ((await server.call('GET', '/readyz')).status !== 200) await sleep(20)
  const readyMs = performance.now() - startedMs
  console.log(
    `api, ${what}: serves in ${servesMs.toFixed(0)} ms, ready in ${readyMs.toFixed(0)}; ${memoryOf(server.pid)}`,
  )
  await server.stop()
}
