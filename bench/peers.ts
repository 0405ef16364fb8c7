/**
 * Compares Tidemark with OpenSearch over HTTP: the same documents, queries and filters, and the same output for each
 * result (title, columns, 500 characters around the match, highlights on request). Both are warm, are measured in turn,
 * and share the cores with the caller.
 *
 *   npm run bench -- peers [CHUNKS] [--seconds N] [--folder FOLDER] [--opensearch URL]
 *                                                              default: 100000 chunks, 4 s per cell
 *
 * FOLDER is filled for Tidemark if it is empty, and kept. OpenSearch is started for the run, one node of 2 GB, with
 * Maven and a JDK. URL names one on this machine instead, which is filled once and kept, because its graph of a million
 * chunks takes hours. Vectors are the caller's own, so no model is measured.
 */
import { globSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { throwawayOpenSearch } from '../scripts/throwaway-opensearch.ts'
import { searchLimits as limits } from '../src/search/limits.ts'
import { datasets, randomFrom } from './corpus/corpus.ts'
import { fillFolder } from './corpus/fill-folder.ts'
import { nearestByForce } from './peers/nearest-by-force.ts'
import { OpenSearchPeer } from './peers/opensearch-peer.ts'
import { drawQuestion, type Question, type QuestionKind } from './peers/questions.ts'
import type { Mode } from './support/ask.ts'
import { type Client, parsed, type Sent } from './support/client.ts'
import { cpuSeconds } from './support/process-figures.ts'
import { progress } from './support/progress.ts'
import { ServerProcess } from './support/server-process.ts'
import { measureInTurn, quantile, type TimedAsk, timed } from './support/times.ts'

const few = datasets.slice(0, 10)
const base = { words: 'three', vectors: 'easy', datasets: null, highlights: false } as const
const kinds: readonly { readonly name: string; readonly kind: QuestionKind }[] = [
  { name: 'keyword, 3 words', kind: { ...base, mode: 'keyword' } },
  { name: 'keyword, 3 words, highlights', kind: { ...base, mode: 'keyword', highlights: true } },
  { name: 'keyword, 3 words, 10 of 100 datasets', kind: { ...base, mode: 'keyword', datasets: few } },
  { name: 'keyword, 1 to 8 words', kind: { ...base, mode: 'keyword', words: 'one to eight' } },
  { name: 'vector, k = 20', kind: { ...base, mode: 'vector' } },
  { name: 'vector, 10 of 100 datasets, k = 20', kind: { ...base, mode: 'vector', datasets: few } },
  { name: 'vector, hard, k = 20', kind: { ...base, mode: 'vector', vectors: 'hard' } },
  { name: 'vector, hard, k = 500', kind: { ...base, mode: 'vector', vectors: 'hard', k: 500 } },
  // Among a million chunks, OpenSearch finds too few of the hard vectors' neighbours with a lower k.
  { name: 'vector, hard, k = 5000', kind: { ...base, mode: 'vector', vectors: 'hard', k: 5000 } },
  { name: 'hybrid, 3 words', kind: { ...base, mode: 'hybrid' } },
  { name: 'hybrid, 3 words, 10 of 100 datasets', kind: { ...base, mode: 'hybrid', datasets: few } },
]
/**
 * Tidemark's figure divided by OpenSearch's: the median time of one caller, and the requests per second of four. A miss
 * is marked with `!`.
 */
const aims: Record<Mode, { readonly p50Max: number; readonly perSecondMin: number }> = {
  keyword: { p50Max: 0.6, perSecondMin: 2 },
  vector: { p50Max: 1, perSecondMin: 1 },
  hybrid: { p50Max: 0.8, perSecondMin: 1 },
}
const recallQueries = 50
/**
 * In milliseconds, with two callers of each peer for each kind of question. Both compile code during their first
 * thousand searches.
 */
const warmMs = 8000
const rounds = 4
const widths = [16, 9, 12, 9]

interface Peer {
  readonly name: string
  readonly pid: number
  /** Prepares a search that is ready to be sent. */
  prepare(question: Question): () => Promise<Sent>
  documentsOf(question: Question): Promise<string[]>
}

export async function run(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: 'string', default: '4' },
      folder: { type: 'string' },
      opensearch: { type: 'string' },
    },
    allowPositionals: true,
  })
  const chunks = Number(positionals[0] ?? 100_000)
  const cellMs = Number(values.seconds) * 1000
  if (!(Number.isInteger(chunks) && chunks > 0 && cellMs > 0)) throw new Error('CHUNKS and --seconds must be numbers')
  const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'bench-peers-'))
  const own =
    values.opensearch === undefined ? await throwawayOpenSearch({ nodes: 1, heapMb: 2048, hybrid: true }) : null
  try {
    fillFolder(folder, chunks)
    const opensearch = new OpenSearchPeer(values.opensearch ?? own!.urls[0]!)
    if (!(await opensearch.has(chunks))) await opensearch.fill(chunks)
    await compare(folder, chunks, opensearch, cellMs)
  } finally {
    await own?.remove()
    if (values.folder === undefined) rmSync(folder, { recursive: true, force: true })
  }
}

async function compare(folder: string, chunks: number, opensearch: OpenSearchPeer, cellMs: number): Promise<void> {
  const server = await ServerProcess.start(folder)
  try {
    const { consumer } = await server.prepare(datasets)
    const peers = [tidemarkPeer(server.pid, consumer), await openSearchPeer(opensearch)] as const
    for (const { name, kind } of kinds) await warm(name, kind, peers)
    const heads = peers.map(({ name }) =>
      [`${name} p50`, 'p95', 'per s at 4', 'CPU ms'].map((head, i) => head.padStart(widths[i]!)).join(''),
    )
    console.log(`\n${`${chunks} chunks`.padEnd(38)}${heads.join('')}   p50, per s`)
    for (const { name, kind } of kinds) {
      progress(name)
      show(name, kind.mode, await measured(kind, peers, cellMs))
    }
    await recall(chunks, peers)
    for (const { name, pid } of peers) console.log(`${name}: ${memory(pid)}`)
    const bytes = globSync(join(folder, '**')).reduce((sum, file) => sum + statSync(file).size, 0)
    const disk = [bytes, await opensearch.diskBytes()].map((one) => `${(one / 1024 / 1024).toFixed(0)} MB`)
    console.log(`on disk: Tidemark ${disk[0]} (store and index), OpenSearch ${disk[1]}`)
  } finally {
    await server.stop()
  }
}

function tidemarkPeer(pid: number, client: Client): Peer {
  const prepare: Peer['prepare'] = ({ mode, text, vector, datasets: requested, highlights }) => {
    const body = JSON.stringify({
      query: text,
      query_vector: vector,
      include_highlights: highlights,
      ...(requested === null ? {} : { datasets: requested }),
    })
    return () => client.send('POST', `/v1/search/${mode}`, body)
  }
  return {
    name: 'Tidemark',
    pid,
    prepare,
    documentsOf: async (question) =>
      parsed(await prepare(question)()).results.map((one: { document_id: string }) => one.document_id),
  }
}

async function openSearchPeer(opensearch: OpenSearchPeer): Promise<Peer> {
  return {
    name: 'OpenSearch',
    pid: await opensearch.pid(),
    prepare: (question) => {
      const request = opensearch.request(question)
      return () => opensearch.send(request)
    },
    documentsOf: (question) => opensearch.documentsOf(question),
  }
}

/** Each peer gets the same questions in the same order. */
const asks = (kind: QuestionKind, peers: readonly Peer[], seed: number): TimedAsk[] =>
  peers.map((peer) => {
    const random = randomFrom(seed)
    return timed(
      () => peer.prepare(drawQuestion(kind, random)),
      (send) => send(),
      (sent) => {
        const { timed_out, degraded } = parsed(sent)
        if (timed_out || degraded) throw new Error(`${peer.name} did not answer in full: ${sent.text.slice(0, 300)}`)
      },
    )
  })

/** The first searches of a server take several times as long as later ones. */
async function warm(name: string, kind: QuestionKind, peers: readonly Peer[]): Promise<void> {
  progress(`warming: ${name}`)
  const until = performance.now() + warmMs
  const caller = async (ask: TimedAsk): Promise<void> => {
    while (performance.now() < until) await ask()
  }
  await Promise.all(asks(kind, peers, 1).flatMap((ask) => [caller(ask), caller(ask)]))
}

interface Measured {
  readonly p50: number
  readonly p95: number
  readonly perSecond: number
  readonly cpuMs: number
}

async function measured(kind: QuestionKind, peers: readonly Peer[], cellMs: number): Promise<Measured[]> {
  const before = peers.map(({ pid }) => cpuSeconds(pid))
  const counts = peers.map(() => 0)
  const counted = asks(kind, peers, 2).map((ask, i) => () => {
    counts[i]!++
    return ask()
  })
  const alone = await measureInTurn(counted, cellMs * peers.length)
  const atFour = await fourEach(counted, cellMs)
  return peers.map(({ pid }, i) => ({
    p50: quantile(alone[i]!.sorted, 0.5),
    p95: quantile(alone[i]!.sorted, 0.95),
    perSecond: atFour[i]!,
    cpuMs: (1000 * (cpuSeconds(pid) - before[i]!)) / counts[i]!,
  }))
}

/** Requests per second of four callers, one peer after the other, several times. */
async function fourEach(peers: readonly TimedAsk[], cellMs: number): Promise<number[]> {
  const done = peers.map(() => 0)
  const spentMs = peers.map(() => 0)
  for (let round = 0; round < rounds; round++) {
    for (const [i, ask] of peers.entries()) {
      const started = performance.now()
      const caller = async (): Promise<void> => {
        while (performance.now() - started < cellMs / rounds) {
          await ask()
          done[i]!++
        }
      }
      await Promise.all(Array.from({ length: 4 }, caller))
      spentMs[i]! += performance.now() - started
    }
  }
  return done.map((count, i) => (1000 * count) / spentMs[i]!)
}

function show(name: string, mode: Mode, [own, other]: readonly Measured[]): void {
  progress('')
  const cells = [own!, other!].map(({ p50, p95, perSecond, cpuMs }) => {
    const shown = [p50.toFixed(2), p95.toFixed(2), perSecond.toFixed(0), cpuMs.toFixed(2)]
    return shown.map((cell, i) => cell.padStart(widths[i]!)).join('')
  })
  const [slower, more] = [own!.p50 / other!.p50, own!.perSecond / other!.perSecond]
  const { p50Max, perSecondMin } = aims[mode]
  const ratios = `${slower.toFixed(2)}${slower > p50Max ? '!' : ''}, ${more.toFixed(2)}${more < perSecondMin ? '!' : ''}`
  console.log(`${name.padEnd(38)}${cells.join('')}   ${ratios}`)
}

/** The share of the 20 nearest documents that is found; OpenSearch's for several values of k. */
async function recall(chunks: number, [own, other]: readonly [Peer, Peer]): Promise<void> {
  console.log(`\nrecall@${limits.resultsDefault}`)
  for (const vectors of ['easy', 'hard'] as const) {
    const random = randomFrom(3)
    const kind: QuestionKind = { ...base, mode: 'vector', vectors }
    const questions = Array.from({ length: recallQueries }, () => drawQuestion(kind, random))
    const nearest = await nearestByForce(
      chunks,
      questions.map(({ vector }) => vector!),
      limits.resultsDefault,
    )
    const shareOf = async (peer: Peer, k: number): Promise<string> => {
      let found = 0
      for (const [i, question] of questions.entries()) {
        const documents = new Set(await peer.documentsOf({ ...question, k }))
        found += documents.intersection(nearest[i]!).size
      }
      return (found / (recallQueries * limits.resultsDefault)).toFixed(3)
    }
    const others = [20, 100, 500, 5000].map(async (k) => `k = ${k} ${await shareOf(other, k)}`)
    console.log(
      `${vectors} vectors: Tidemark ${await shareOf(own, 0)}, OpenSearch ${(await Promise.all(others)).join(', ')}`,
    )
  }
}

/** Mapped files, such as those of OpenSearch's index, count with their resident pages only. */
function memory(pid: number): string {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const mb = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? Number.NaN) / 1024
  const own = mb('RssAnon') + mb('RssShmem')
  return `resident ${mb('VmRSS').toFixed(0)} MB, ${own.toFixed(0)} of it not backed by files`
}
