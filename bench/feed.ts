/**
 * Measures how many events per second one application reads from the change feed, 200 per page, beside the plain query
 * for the same rows; and the time from an acknowledged document until the feed has it, and until a waiting reader has
 * it.
 *
 *   npm run bench -- feed [STORED…] [--rounds 100] [--folder FOLDER]      default: 10000 and 100000 stored
 *
 * The application reads every page whole, with its cursor. The plain side fetches the same rows as objects with one
 * prepared statement in this process. A figure is the best of some rounds, on both sides. FOLDER may be one that
 * `ingest` filled, and is kept.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import { noVectors } from '../test/acceptance/harness.ts'
import { newestSequence } from './ingest/bare-inserts.ts'
import { type Client, parsed } from './support/client.ts'
import { documentLine } from './support/documents.ts'
import { sendStream } from './support/send-documents.ts'
import { type Callers, ServerProcess } from './support/server-process.ts'
import { quantile } from './support/times.ts'

const pageSize = 200
/** The events of a round, or all if there are fewer. */
const eventsMax = 10_000
/** The first rounds warm up. */
const readingRounds = 30

export async function run(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { rounds: { type: 'string', default: '100' }, folder: { type: 'string' } },
  })
  const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'bench-feed-'))
  mkdirSync(folder, { recursive: true })
  const database = join(folder, 'tidemark.sqlite')
  try {
    for (const stored of positionals.length === 0 ? [10_000, 100_000] : positionals.map(Number)) {
      const server = await ServerProcess.start(folder, noVectors)
      try {
        const callers = await server.prepare()
        const existing = newestSequence(database)
        if (existing < stored) await sendStream(callers.collector, { from: existing, to: stored })
        const http = await eventsPerSecond(await pagesOf(callers.consumer))
        const bare = await eventsPerSecond(barePages(database, Math.min(stored, eventsMax)))
        const share = `${((100 * http) / bare).toFixed(0)} % of the bare query's ${bare.toFixed(0)}`
        console.log(`${stored} stored: ${http.toFixed(0)} events a second over HTTP, ${share}`)
        await measureVisibility(callers, Number(values.rounds))
      } finally {
        await server.stop()
      }
    }
  } finally {
    if (values.folder === undefined) rmSync(folder, { recursive: true })
  }
}

/** Reads the same events in every round, and returns their number. */
type ReadRound = () => Promise<number>

/** The best of some rounds. */
async function eventsPerSecond(read: ReadRound): Promise<number> {
  let best = 0
  for (let round = 0; round < readingRounds; round++) {
    const startedMs = performance.now()
    const events = await read()
    best = Math.max(best, events / ((performance.now() - startedMs) / 1000))
  }
  return best
}

const cursorOf = (page: string): string => {
  const from = page.lastIndexOf('"next_cursor":"') + '"next_cursor":"'.length
  return page.slice(from, page.indexOf('"', from))
}

/** Checks that every event is there, once and in order, before anything is timed. */
async function pagesOf(consumer: Client): Promise<ReadRound> {
  const first = `/v1/changes?limit=${pageSize}`
  const read = async (path: string): Promise<string> => (await consumer.send('GET', path)).text
  let [events, pages] = [0, 0]
  for (let path = first; events < eventsMax; pages++) {
    const page = await read(path)
    const { items } = JSON.parse(page) as { items: { sequence: number }[] }
    if (items.length === 0) break
    for (const { sequence } of items)
      if (sequence !== ++events) throw new Error(`event ${sequence} was at position ${events}`)
    path = `${first}&cursor=${cursorOf(page)}`
  }
  return async () => {
    for (let path = first, page = 0; page < pages; page++) path = `${first}&cursor=${cursorOf(await read(path))}`
    return events
  }
}

function barePages(path: string, events: number): ReadRound {
  const db = new DatabaseSync(path, { readOnly: true })
  const select = db.prepare('select * from event where sequence > ? and dataset_id in (?) order by sequence limit ?')
  return async () => {
    let seen = 0
    for (let after = 0; seen < events; ) {
      const rows = select.all(after, 'bench', pageSize)
      seen += rows.length
      after = Number(rows.at(-1)!.sequence)
    }
    return seen
  }
}

/** Sends one document at a time. Measures from its answer until the feed has it, and until a waiting reader has it. */
async function measureVisibility({ collector, consumer }: Callers, rounds: number): Promise<void> {
  let { next_cursor: cursor } = await consumer.call('GET', '/v1/changes?start=latest')
  const changes = async (wait: number) =>
    parsed(await consumer.send('GET', `/v1/changes?wait=${wait}&cursor=${cursor}`))
  const visible: number[] = []
  const waited: number[] = []
  const base = 1_000_000_000 + (Date.now() % 100_000_000) * 10
  for (let i = 0; i < rounds; i++) {
    const waiting = changes(20).then((page) => ({ page, atMs: performance.now() }))
    // The reader is waiting by then.
    await new Promise((resolve) => setTimeout(resolve, 15))
    const sent = await collector.send('POST', '/collector/v1/documents', `{"documents":[${documentLine(base + i)}]}`)
    const acknowledgedMs = performance.now()
    const { document_id } = parsed(sent).results[0]
    const has = (page: { items: { document_id: string }[] }) =>
      page.items.some((event) => event.document_id === document_id)
    while (!has(await changes(0)));
    visible.push(performance.now() - acknowledgedMs)
    const { page, atMs } = await waiting
    if (!has(page)) throw new Error('the waiting reader was answered without the event')
    waited.push(Math.max(0, atMs - acknowledgedMs))
    cursor = page.next_cursor
  }
  console.log(`acknowledged to visible in the feed: ${spread(visible)}; to a waiting reader: ${spread(waited)}`)
}

function spread(times: number[]): string {
  times.sort((a, b) => a - b)
  return `p50 ${quantile(times, 0.5).toFixed(1)} ms, p99 ${quantile(times, 0.99).toFixed(1)} ms`
}
