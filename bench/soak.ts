/**
 * Measures an instance in use while documents arrive, as in production: 60 documents, 20 keyword, 5 vector and 5 hybrid
 * searches and 15 listings per second, and one feed reader. The server has both built-in models.
 *
 *   npm run bench -- soak [--minutes 10] [--documents 1000] [--share 1] [--folder FOLDER]
 *
 * First `--documents` are stored with their vectors, and only reads are sent (idle). Then reads and writes are sent. At
 * the end the feed must have delivered every document once, no request may have failed, and stored documents must be
 * found. Times are divided by those of idle. For a slow machine, `--share` scales the load down, because requests that
 * pile up say nothing about the server.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { FeedReader } from './soak/feed-reader.ts'
import { type Answers, kinds, MixedLoad, noAnswers } from './soak/mixed-load.ts'
import { memoryPartsOf } from './support/process-figures.ts'
import { ServerProcess } from './support/server-process.ts'
import { quantile } from './support/times.ts'

const idleShare = 0.25
const rounds = 6

interface Reading {
  readonly chunks: number
  readonly waiting: number
  readonly serverMb: number
}

interface Aim {
  readonly what: string
  readonly figure: number
  readonly atMost: number
}

export async function run(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '10' },
      documents: { type: 'string', default: '1000' },
      share: { type: 'string', default: '1' },
      folder: { type: 'string' },
    },
  })
  const [wholeMs, share] = [Number(values.minutes) * 60_000, Number(values.share)]
  const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'bench-soak-'))
  let server = await ServerProcess.start(folder)
  try {
    const callers = await server.prepare()
    const load = new MixedLoad(callers, share)
    const feed = new FeedReader(callers.consumer)
    await load.load(Number(values.documents))
    say(`${values.documents} documents are stored; their vectors are being computed`)
    await untilNothingWaits(server)
    await warm(load, wholeMs)

    const idle = noAnswers()
    say('idle: reads alone')
    await load.ask('reads', wholeMs * idleShare, idle)
    const before = await read(server)
    report(before)

    const busy = noAnswers()
    const lagsMs: number[] = []
    say('writes and reads')
    for (let round = 0; round < rounds; round++) {
      const sending = load.ask('all', (wholeMs * (1 - idleShare)) / rounds, busy)
      lagsMs.push(await load.untilFound())
      await sending
      report(await read(server))
    }
    const after = await read(server)
    const aims = compareTimes(idle, busy)
    aims.push({
      what: 'seconds until keyword search finds a stored document',
      figure: Math.max(...lagsMs) / 1000,
      atMost: 60,
    })
    const kilobytes = (1024 * (after.serverMb - before.serverMb)) / (after.chunks - before.chunks)
    aims.push({ what: 'KB of server memory per chunk', figure: kilobytes, atMost: 1.5 })

    const faults = await feed.compare(load.stored)
    say(faults.join('\n') || `the feed delivered each of ${load.stored.size} documents once`)
    aims.push({ what: 'faults of the feed', figure: faults.length, atMost: 0 })
    const errors = [...load.errors].map(([what, times]) => `${times} times ${what}`)
    say(`${load.answered} requests were answered; errors: ${errors.join(', ') || 'none'}`)
    aims.push({ what: 'kinds of errors', figure: errors.length, atMost: 0 })

    await server.stop()
    server = await ServerProcess.start(folder)
    await warm(new MixedLoad(await server.prepare(), share), wholeMs)
    const { serverMb } = await read(server)
    say(`server ${after.serverMb.toFixed(0)} MB, after a restart ${serverMb.toFixed(0)}`)
    aims.push({ what: 'memory / memory after a restart', figure: after.serverMb / serverMb, atMost: 1.3 })
    for (const { what, figure, atMost } of aims) {
      const verdict = figure <= atMost ? 'holds' : 'FAILS'
      console.log(`${verdict}  ${what}: ${figure.toFixed(2)} (at most ${atMost.toFixed(2)})`)
    }
  } finally {
    await server.stop()
    if (values.folder === undefined) rmSync(folder, { recursive: true, force: true })
  }
}

/** A server is several times slower in its first requests, while V8 compiles its code. */
const warm = (load: MixedLoad, wholeMs: number): Promise<void> =>
  load.ask('reads', Math.min(20_000, wholeMs / 12), noAnswers())

async function untilNothingWaits(server: ServerProcess): Promise<void> {
  while ((await read(server)).waiting > 0) await delay(500)
}

async function read(server: ServerProcess): Promise<Reading> {
  const { indexed_chunks, pending_documents, pending_vectors } = await server.index()
  const { serverMb } = memoryPartsOf(server.pid)
  return { chunks: indexed_chunks, waiting: pending_documents + pending_vectors, serverMb }
}

const startedMs = performance.now()
const say = (line: string): void =>
  console.log(`${((performance.now() - startedMs) / 1000).toFixed(0).padStart(4)} s  ${line}`)
const report = ({ chunks, waiting, serverMb }: Reading): void =>
  say(`${chunks} chunks; ${waiting} wait to be indexed or for a vector; server ${serverMb.toFixed(0)} MB`)

function compareTimes(idle: Answers, busy: Answers): Aim[] {
  const aims: Aim[] = []
  console.log(`${'ms'.padEnd(10)} answers   idle p50    p99   busy p50    p99   ratios p50   p99`)
  for (const kind of kinds) {
    const [a, b] = [idle[kind], busy[kind]].map((times) => times.toSorted((x, y) => x - y)) as [number[], number[]]
    const [a50, a99, b50, b99] = [quantile(a, 0.5), quantile(a, 0.99), quantile(b, 0.5), quantile(b, 0.99)] as const
    const cells = [a50, a99, b50, b99, b50 / a50, b99 / a99].map((ms, i) =>
      ms.toFixed(i < 4 ? 1 : 2).padStart([11, 7, 11, 7, 13, 6][i]!),
    )
    console.log(`${kind.padEnd(10)} ${String(b.length).padStart(7)}${cells.join('')}`)
    if (kind === 'keyword') aims.push({ what: `${kind} p50, times idle`, figure: b50 / a50, atMost: 1.3 })
    if (kind === 'vector' || kind === 'hybrid') {
      aims.push({ what: `${kind} p50, times idle`, figure: b50 / a50, atMost: 1.5 })
      aims.push({ what: `${kind} p99, times idle`, figure: b99 / a99, atMost: 3 })
    } else aims.push({ what: `${kind} p99, ms`, figure: b99, atMost: 25 })
  }
  return aims
}
