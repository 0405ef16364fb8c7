/**
 * The two stores side by side, each under a whole instance of its own (search index included, no vectors): documents a
 * second by batches of 500 and as a stream, events a second to one consumer, and the time of listings. The two take
 * turns, round by round; PostgreSQL is a server made for the run, on this machine, with everything on disk at commit.
 *
 *   npm run bench -- stores [ingest,feed,catalog] [--stored 10000,100000] [--measure 5000] [--rounds 3]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { throwawayPostgres } from '../scripts/throwaway-postgres.ts'
import { BareConnection } from './support/bare-connection.ts'
import { sendBatches, sendStream } from './support/send-documents.ts'
import { ServerProcess } from './support/server-process.ts'

interface Side {
  readonly name: string
  readonly server: ServerProcess
  readonly keys: { readonly collector: string; readonly consumer: string }
}

const parts = ['ingest', 'feed', 'catalog']
const pageSize = 200
const feedEvents = 10_000
const listings: Readonly<Record<string, string>> = {
  'no filter': '',
  platform: 'source_platforms=forum',
  'common tag': 'tags=tag-x',
  'rare tag': 'tags=tag-4999',
  author: 'source_platforms=web&external_author_id=u7919',
  'classification, score range': 'classification_codes=code-3&score_min=100&score_max=400',
}

export async function run(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      stored: { type: 'string', default: '10000,100000' },
      measure: { type: 'string', default: '5000' },
      rounds: { type: 'string', default: '3' },
    },
  })
  const wanted = positionals[0]?.split(',') ?? parts
  const [measured, rounds] = [Number(values.measure), Number(values.rounds)]
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-stores-'))
  const postgres = await throwawayPostgres({ durable: true })
  const sides: Side[] = []
  try {
    // An endpoint that is never there: the model would take the processors from what is measured.
    Object.assign(process.env, { TIDEMARK_EMBEDDING_URL: 'http://127.0.0.1:9', TIDEMARK_EMBEDDING_MODEL: 'none' })
    sides.push(await start('SQLite', join(folder, 'sqlite')))
    process.env.TIDEMARK_DATABASE_URL = postgres.url
    sides.push(await start('PostgreSQL', join(folder, 'postgres')))
    let next = 0
    for (const stored of values.stored.split(',').map(Number)) {
      for (const { server, keys } of sides) await sendStream(server, keys.collector, { from: next, to: stored })
      next = Math.max(next, stored)
      console.log(
        `\n${stored.toLocaleString('en')} documents stored${''.padEnd(12)}SQLite      PostgreSQL  PostgreSQL / SQLite`,
      )
      if (wanted.includes('ingest')) next = await ingest(sides, next, measured, rounds)
      if (wanted.includes('feed')) await compare('events/s, one consumer', 'most', sides, rounds, feed)
      if (wanted.includes('catalog')) await catalog(sides, rounds)
    }
  } finally {
    for (const { server } of sides) await server.stop()
    await postgres.remove()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function start(name: string, dataDir: string): Promise<Side> {
  const server = await ServerProcess.start(dataDir, false)
  return { name, server, keys: await server.prepare() }
}

/** The best of some rounds in which the sides take turns. */
async function compare(
  what: string,
  best: 'most' | 'least',
  sides: readonly Side[],
  rounds: number,
  measure: (side: Side, round: number) => Promise<number>,
): Promise<void> {
  const figures: number[][] = sides.map(() => [])
  for (let round = 0; round < rounds; round++) {
    for (const [i, side] of sides.entries()) figures[i]!.push(await measure(side, round))
  }
  const [sqlite, postgres] = figures.map((all) => (best === 'most' ? Math.max(...all) : Math.min(...all)))
  const shown = (figure: number) => figure.toFixed(best === 'most' ? 0 : 2).padEnd(12)
  console.log(`${what.padEnd(40)}${shown(sqlite!)}${shown(postgres!)}${(postgres! / sqlite!).toFixed(2)}`)
}

async function ingest(sides: readonly Side[], from: number, count: number, rounds: number): Promise<number> {
  let next = from
  const range = (round: number) => ({ from: next + round * count, to: next + (round + 1) * count })
  const ways: [string, (side: Side, round: number) => Promise<number>][] = [
    ['documents/s, one sender', ({ server, keys }, round) => sendBatches(server, keys.collector, range(round), 1)],
    ['documents/s, four senders', ({ server, keys }, round) => sendBatches(server, keys.collector, range(round), 4)],
    ['documents/s, one stream', ({ server, keys }, round) => sendStream(server, keys.collector, range(round))],
  ]
  for (const [what, measure] of ways) {
    await compare(what, 'most', sides, rounds, measure)
    next += rounds * count
  }
  return next
}

async function feed({ server, keys }: Side): Promise<number> {
  const consumer = await BareConnection.open(server.address, keys.consumer)
  try {
    const startedMs = performance.now()
    let path = `/v1/changes?limit=${pageSize}`
    for (let events = 0; events < feedEvents; events += pageSize) {
      const { next_cursor } = JSON.parse((await consumer.get(path)).toString()) as { next_cursor: string }
      path = `/v1/changes?limit=${pageSize}&cursor=${next_cursor}`
    }
    return feedEvents / ((performance.now() - startedMs) / 1000)
  } finally {
    consumer.close()
  }
}

async function catalog(sides: readonly Side[], rounds: number): Promise<void> {
  for (const [name, filter] of Object.entries(listings)) {
    await compare(`listing, ${name}: ms at p50`, 'least', sides, rounds, async ({ server, keys }) => {
      const times: number[] = []
      for (let i = 0; i < 30; i++) {
        const startedMs = performance.now()
        await server.call(keys.consumer, 'GET', `/v1/documents/browse?limit=50&${filter}`)
        times.push(performance.now() - startedMs)
      }
      return times.sort((a, b) => a - b)[15]!
    })
  }
}
