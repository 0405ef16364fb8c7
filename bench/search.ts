/**
 * Measures searches over HTTP beside direct calls of a copy of the same index; how soon a document is found; how long a
 * start takes; and memory.
 *
 *   npm run bench -- search [CHUNKS] [--seconds N] [--folder FOLDER]      default: 100000 chunks, 3 s per line
 *
 * FOLDER is filled if it is empty, and kept. Queries have three words, rare to common. Vectors are the caller's own, so
 * that embedding is measured separately. Server and index are measured in turn, because the speed of a machine varies
 * from second to second. Both share its cores with the client.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { SearchIndex } from '../src/indexing/fed-index.ts'
import { indexPath } from '../src/storage/segments/file/index-files.ts'
import { openSegmentsIndex } from '../src/storage/segments/segments-index.ts'
import { parseQuery } from '../src/text/parse-query.ts'
import { datasets, drawText, drawVector, profileId, randomFrom } from './corpus/corpus.ts'
import { fillFolder } from './corpus/fill-folder.ts'
import { bareSearch, type Mode, modes, searches } from './support/ask.ts'
import { type Client, parsed } from './support/client.ts'
import { freshness } from './support/freshness.ts'
import { cpuSeconds, memoryOf } from './support/process-figures.ts'
import { ServerProcess } from './support/server-process.ts'
import {
  cellHeads,
  cells,
  measure,
  measureInTurn,
  quantile,
  type TimedAsk,
  type Times,
  timed,
} from './support/times.ts'

/** In milliseconds. All modes warm up at once, before anything is measured. */
const warmMs = 30_000
const starts = 3

export async function run(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { seconds: { type: 'string', default: '3' }, folder: { type: 'string' } },
    allowPositionals: true,
  })
  const [chunks, cellMs] = [Number(positionals[0] ?? 100_000), Number(values.seconds) * 1000]
  if (!(Number.isInteger(chunks) && chunks > 0 && cellMs > 0)) throw new Error('CHUNKS and --seconds must be numbers')
  const scratch = mkdtempSync(join(tmpdir(), 'bench-search-'))
  const folder = values.folder ?? join(scratch, 'data')
  try {
    fillFolder(folder, chunks)
    cpSync(indexPath(folder, 1), join(scratch, 'copy'))
    await measureStarts('an empty folder, first and again', join(scratch, 'empty'))
    await measureStarts(`${chunks} chunks`, folder)
    const index = await openSegmentsIndex({ path: join(scratch, 'copy') })
    const server = await ServerProcess.start(folder)
    try {
      await compare(server, index, cellMs)
    } finally {
      await server.stop()
      await index.close()
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** Measures from the start of the process until it prints that it serves. */
async function measureStarts(where: string, folder: string): Promise<void> {
  const times: string[] = []
  for (let i = 0; i < starts; i++) {
    const startedMs = performance.now()
    const server = await ServerProcess.start(folder)
    const wallMs = performance.now() - startedMs
    times.push(`${wallMs.toFixed(0)} ms (${(cpuSeconds(server.pid) * 1000).toFixed(0)} ms CPU)`)
    await server.stop()
  }
  console.log(`started on ${where}: ${times.join(', ')}`)
}

async function compare(server: ServerProcess, index: SearchIndex, cellMs: number): Promise<void> {
  const { consumer, collector } = await server.prepare(datasets)
  await Promise.all(modes.map((mode) => measure(1, warmMs, searches(consumer, mode, true, randomFrom(10)))))
  console.log(`\n${cellHeads}`)
  for (const mode of modes) {
    // Each has queries of its own, so that none finds in memory what another has just read.
    const asks = [
      bareSearches(index, mode),
      searches(consumer, mode, false, randomFrom(12)),
      searches(consumer, mode, true, randomFrom(13)),
    ]
    show(mode, 1, await measureInTurn(asks, cellMs * asks.length))
    const times: Times[] = []
    for (const ask of asks) times.push(await measure(4, cellMs, ask))
    show(mode, 4, times)
  }
  await embedding(consumer, cellMs)
  console.log(`\n${memoryOf(server.pid)}`)
  await freshness(consumer, collector)
  console.log(`at the end ${memoryOf(server.pid)}`)
}

function bareSearches(index: SearchIndex, mode: Mode): TimedAsk {
  const random = randomFrom(11)
  return timed(
    () => ({ query: parseQuery(drawText(random), null), vector: drawVector(random) }),
    (question) => bareSearch(index, mode, profileId, question),
    () => {},
  )
}

function show(mode: Mode, callers: number, [bare, ...overHttp]: readonly Times[]): void {
  console.log(`${`bare index, ${mode}, ${callers} at once`.padEnd(40)}${cells(bare!)}`)
  for (const [i, times] of overHttp.entries()) {
    const name = `${mode}${i === 1 ? ' with highlights' : ''}, ${callers} at once`
    const added = quantile(times.sorted, 0.5) - quantile(bare!.sorted, 0.5)
    console.log(`${`HTTP, ${name}`.padEnd(40)}${cells(times)}   ${added.toFixed(2)} above the index`)
  }
}

/** Measures searches for which the built-in models have to embed the query. */
async function embedding(client: Client, cellMs: number): Promise<void> {
  const random = randomFrom(12)
  await client.call('POST', '/v1/search/vector', { query: 'first' })
  for (const mode of ['vector', 'hybrid']) {
    const ask = timed(
      () => JSON.stringify({ query: drawText(random) }),
      (body) => client.send('POST', `/v1/search/${mode}`, body),
      (answer) => void parsed(answer),
    )
    console.log(`${`HTTP, ${mode}, text embedded here`.padEnd(40)}${cells(await measure(1, cellMs, ask))}`)
  }
}
