/**
 * Measures how many documents per second a durable store takes over HTTP, beside plain inserts of the same rows into a
 * copy of the same database, and how this depends on the number of stored documents.
 *
 *   npm run bench -- ingest [STORED…] [--measure 5000] [--rounds 5] [--folder FOLDER]      default: 10000 and 100000 stored
 *
 * The server also indexes for keyword search, as every instance does; it computes no vectors, because that would take
 * far longer than everything else. A figure is the best of some rounds, on both sides, because other work on the
 * machine only slows them down. FOLDER is kept.
 */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { noVectors } from '../test/acceptance/harness.ts'
import { type Figure, insertRows, newestSequence, readRows } from './ingest/bare-inserts.ts'
import { cpuSeconds, memoryOf } from './support/process-figures.ts'
import { sendBatches, sendStream } from './support/send-documents.ts'
import { ServerProcess } from './support/server-process.ts'

const batchDocuments = 500
const widths = [9, 18, 18, 18, 18, 22]
const cell = ({ perSecond, cpuMs }: Figure): string => `${perSecond.toFixed(0)} (${cpuMs.toFixed(0)})`
const line = (cells: readonly string[]): string => cells.map((one, i) => one.padStart(widths[i]!)).join('')

export async function run(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      measure: { type: 'string', default: '5000' },
      rounds: { type: 'string', default: '5' },
      folder: { type: 'string' },
    },
  })
  const [documents, rounds] = [Number(values.measure), Number(values.rounds)]
  const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'bench-ingest-'))
  mkdirSync(folder, { recursive: true })
  console.log('documents a second; in brackets ms of CPU for 1000 documents')
  console.log(line(['stored', 'JSON, 1 sender', 'JSON, 4 senders', 'NDJSON stream', 'bare inserts', 'shares of bare']))
  try {
    for (const stored of positionals.length === 0 ? [10_000, 100_000] : positionals.map(Number)) {
      const figures = await measure(folder, stored, documents, rounds)
      const bare = figures.at(-1)!
      const shares = figures.slice(0, -1).map((one) => `${((100 * one.perSecond) / bare.perSecond).toFixed(0)} %`)
      console.log(line([String(stored), ...figures.map(cell), shares.join(' / ')]))
    }
  } finally {
    if (values.folder === undefined) rmSync(folder, { recursive: true })
  }
}

/** Returns the figures of one sender, four senders, a stream, and plain inserts, in this order. */
async function measure(folder: string, stored: number, documents: number, rounds: number): Promise<Figure[]> {
  const database = join(folder, 'tidemark.sqlite')
  const copy = join(folder, 'copy.sqlite')
  await fill(folder, stored)
  // One database for the service and a byte-for-byte copy for the plain inserts.
  copyFileSync(database, copy)
  const before = newestSequence(database)
  const server = await ServerProcess.start(folder, noVectors)
  const { collector } = await server.prepare()
  let next = before
  const best = async (send: (range: { from: number; to: number }) => Promise<number>): Promise<Figure> => {
    const figures: Figure[] = []
    for (let round = 0; round < rounds; round++) {
      const cpuBefore = cpuSeconds(server.pid)
      const perSecond = await send({ from: next, to: next + documents })
      next += documents
      figures.push({ perSecond, cpuMs: (1000 * (cpuSeconds(server.pid) - cpuBefore)) / (documents / 1000) })
    }
    return bestOf(figures)
  }
  const stream = await best((range) => sendStream(collector, range))
  const one = await best((range) => sendBatches(collector, range, 1))
  const four = await best((range) => sendBatches(collector, range, 4))
  await server.stop()
  const rows = readRows(database, before, batchDocuments)
  const perRound = Math.ceil(documents / batchDocuments)
  const bare = Array.from({ length: rounds }, (_, i) => insertRows(copy, rows.slice(i * perRound, (i + 1) * perRound)))
  for (const suffix of ['', '-wal', '-shm']) rmSync(copy + suffix, { force: true })
  return [one, four, stream, bestOf(bare)]
}

/** The best speed and the best CPU time. */
const bestOf = (figures: readonly Figure[]): Figure => ({
  perSecond: Math.max(...figures.map(({ perSecond }) => perSecond)),
  cpuMs: Math.min(...figures.map(({ cpuMs }) => cpuMs)),
})

/** Sends documents until `stored` are there, as one stream. */
async function fill(folder: string, stored: number): Promise<void> {
  const server = await ServerProcess.start(folder, noVectors)
  try {
    const { collector } = await server.prepare()
    const from = newestSequence(join(folder, 'tidemark.sqlite'))
    if (stored <= from) return
    const perSecond = await sendStream(collector, { from, to: stored })
    console.log(
      `(a stream of ${stored - from} documents: ${perSecond.toFixed(0)} a second; then ${memoryOf(server.pid)})`,
    )
  } finally {
    await server.stop()
  }
}
