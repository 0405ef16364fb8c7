/**
 * Events a second that one consumer reads over HTTP at 200 a page, against the bare query in the same run, and how that
 * changes with what is stored; and the time from an acknowledged document to the feed and to a reader that waits.
 *
 *   npm run bench -- feed [--stored 10000,1000000] [--rounds 300] [--keep FOLDER] [--whole]
 *
 * The consumer takes every page whole, from the first to the last byte, and its cursor out of it; the bare side fetches
 * the same rows as objects by one prepared statement in its own process. Neither looks into the events: what becomes of
 * them is the consumer's affair. That they are all there, once and in order, is checked before anything is timed.
 *
 * A figure is the best of some rounds, ours and the bare one alike: other work on the machine only ever takes away.
 * `--keep` uses a folder that `ingest --keep` has filled, or fills it.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import { BareConnection } from './support/bare-connection.ts'
import { type Figure, newestSequence } from './support/bare-inserts.ts'
import { documentLine } from './support/documents.ts'
import { sendStream } from './support/send-documents.ts'
import { ServerProcess } from './support/server-process.ts'

const pageSize = 200
/** Events of one round; all there are where there are fewer. The first rounds are for warming up. */
const roundEvents = 10_000
const readingRounds = 30
const widths = [9, 22, 22, 16]

interface Page {
  readonly items: readonly { readonly document_id: string }[]
  readonly next_cursor: string
}

export async function run(args: readonly string[]): Promise<void> {
  const options = {
    stored: { type: 'string', default: '10000,1000000' },
    rounds: { type: 'string', default: '300' },
    keep: { type: 'string' },
    whole: { type: 'boolean', default: false },
  } as const
  const { values } = parseArgs({ args: [...args], options })
  const folder = values.keep ?? mkdtempSync(join(tmpdir(), 'tidemark-bench-'))
  mkdirSync(folder, { recursive: true })
  const database = join(folder, 'tidemark.sqlite')
  console.log(values.whole ? 'the whole instance' : 'the content side alone')
  console.log('events a second; in brackets processor time in ms for 1000 events')
  const names = ['stored', 'HTTP, one consumer', 'bare query', 'share of bare']
  console.log(names.map((name, i) => name.padStart(widths[i]!)).join(''))
  try {
    for (const stored of values.stored.split(',').map(Number)) {
      const server = await ServerProcess.start(folder, !values.whole)
      const keys = await server.prepare()
      const there = newestSequence(database)
      if (there < stored) await sendStream(server, keys.collector, { from: there, to: stored })
      const http = await readFeed(server, keys.consumer)
      const bare = readBare(database)
      const cells = [
        String(stored),
        `${http.perSecond.toFixed(0)} (${http.cpuMs.toFixed(1)})`,
        `${bare.perSecond.toFixed(0)} (${bare.cpuMs.toFixed(1)})`,
        `${((100 * http.perSecond) / bare.perSecond).toFixed(0)} %`,
      ]
      console.log(cells.map((cell, i) => cell.padStart(widths[i]!)).join(''))
      await measureVisibility(server, keys, Number(values.rounds))
      await server.stop()
    }
  } finally {
    if (values.keep === undefined) rmSync(folder, { recursive: true })
  }
}

async function readFeed(server: ServerProcess, key: string): Promise<Figure> {
  const consumer = await BareConnection.open(server.address, key)
  const first = `/v1/changes?limit=${pageSize}`
  const next = (body: Buffer): string => {
    const from = body.lastIndexOf('"next_cursor":"') + '"next_cursor":"'.length
    return `${first}&cursor=${body.toString('latin1', from, body.indexOf('"', from))}`
  }
  try {
    // Looked into once: how many pages hold the events of a round.
    let events = 0
    let pages = 0
    for (let path = first; events < roundEvents; pages++) {
      const body = await consumer.get(path)
      const { items } = JSON.parse(body.toString()) as { items: { sequence: number }[] }
      if (items.length === 0) break
      for (const { sequence } of items) if (sequence !== ++events) throw new Error(`${sequence} came as ${events}`)
      path = next(body)
    }
    let best: Figure = { perSecond: 0, cpuMs: Number.POSITIVE_INFINITY }
    for (let round = 0; round < readingRounds; round++) {
      const cpuBefore = await server.cpuMs()
      const startedMs = performance.now()
      for (let path = first, page = 0; page < pages; page++) path = next(await consumer.get(path))
      const perSecond = events / ((performance.now() - startedMs) / 1000)
      best = better(best, { perSecond, cpuMs: ((await server.cpuMs()) - cpuBefore) / (events / 1000) })
    }
    return best
  } finally {
    consumer.close()
  }
}

const better = (a: Figure, b: Figure): Figure => ({
  perSecond: Math.max(a.perSecond, b.perSecond),
  cpuMs: Math.min(a.cpuMs, b.cpuMs),
})

/** The same pages by one prepared statement, in this process, without anybody to send them to. */
function readBare(path: string): Figure {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    const select = db.prepare('select * from event where sequence > ? and dataset_id in (?) order by sequence limit ?')
    const read = (events: number): number => {
      let seen = 0
      for (let after = 0; seen < events; ) {
        const rows = select.all(after, 'bench', pageSize)
        if (rows.length === 0) break
        seen += rows.length
        after = Number(rows.at(-1)!.sequence)
      }
      return seen
    }
    let best: Figure = { perSecond: 0, cpuMs: Number.POSITIVE_INFINITY }
    for (let round = 0; round < readingRounds; round++) {
      const cpuBefore = process.cpuUsage()
      const startedMs = performance.now()
      const seen = read(roundEvents)
      const seconds = (performance.now() - startedMs) / 1000
      const { user, system } = process.cpuUsage(cpuBefore)
      best = better(best, { perSecond: seen / seconds, cpuMs: (user + system) / seen })
    }
    return best
  } finally {
    db.close()
  }
}

/** One document at a time: after its answer, until the feed has it, and until a reader that waits has it. */
async function measureVisibility(
  server: ServerProcess,
  keys: { collector: string; consumer: string },
  rounds: number,
): Promise<void> {
  let page: Page = JSON.parse(await server.call(keys.consumer, 'GET', '/v1/changes?ingested_from=2999-01-01T00:00:00Z'))
  const now = new Date().toISOString()
  const after = (wait: number) => `/v1/changes?ingested_from=${now}&wait=${wait}&cursor=${page.next_cursor}`
  const first = `/v1/changes?ingested_from=${now}`
  do page = JSON.parse(await server.call(keys.consumer, 'GET', page.items.length > 0 ? after(0) : first))
  while (page.items.length > 0)

  const visible: number[] = []
  const polled: number[] = []
  const base = 1_000_000_000 + (Date.now() % 100_000_000) * 10
  for (let i = 0; i < rounds; i++) {
    const waiting = server.call(keys.consumer, 'GET', after(20)).then((text) => ({ text, atMs: performance.now() }))
    // A waiting reader has reached the point where it only waits.
    await new Promise((resolve) => setTimeout(resolve, 15))
    const answer = await server.call(
      keys.collector,
      'POST',
      '/collector/v1/documents',
      `{"documents":[${documentLine(base + i)}]}`,
    )
    const acknowledgedMs = performance.now()
    const { document_id } = JSON.parse(answer).results[0]
    const has = (text: string) => (JSON.parse(text) as Page).items.some((event) => event.document_id === document_id)
    while (!has(await server.call(keys.consumer, 'GET', after(0))));
    visible.push(performance.now() - acknowledgedMs)
    const { text, atMs } = await waiting
    if (!has(text)) throw new Error('the waiting reader was answered without the event')
    polled.push(Math.max(0, atMs - acknowledgedMs))
    page = JSON.parse(text)
  }
  const told = (times: number[]): string => {
    times.sort((a, b) => a - b)
    const [p50, p99] = [0.5, 0.99].map((share) => times[Math.floor(times.length * share)]!.toFixed(1))
    return `p50 ${p50} ms, p99 ${p99} ms`
  }
  console.log(`(acknowledged to visible in the feed: ${told(visible)}; to a waiting reader: ${told(polled)})`)
}
