/**
 * Documents a second into a durable store over HTTP, against bare inserts of the same rows into a copy of the same
 * database in the same run; how that changes with what is stored; and the memory of the server during one long stream.
 *
 *   npm run bench -- ingest [--stored 10000,1000000] [--measure 5000] [--rounds 5] [--whole] [--keep FOLDER]
 *
 * A figure is the best of some rounds, ours and the bare one alike: other work on the machine only ever takes away.
 * `--whole` measures the whole instance, which makes its search index and vectors at the same time; without it the
 * content side alone. `--keep` uses that folder and leaves it, filled, for another run.
 */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Figure, insertRows, newestSequence, readRows } from './support/bare-inserts.ts'
import { sendBatches, sendStream } from './support/send-documents.ts'
import { ServerProcess } from './support/server-process.ts'

const widths = [9, 18, 18, 18, 18, 22]
const text = ({ perSecond, cpuMs }: Figure): string => `${perSecond.toFixed(0)} (${cpuMs.toFixed(0)})`

export async function run(args: readonly string[]): Promise<void> {
  const options = {
    stored: { type: 'string', default: '10000,1000000' },
    measure: { type: 'string', default: '5000' },
    rounds: { type: 'string', default: '5' },
    whole: { type: 'boolean', default: false },
    keep: { type: 'string' },
  } as const
  const { values } = parseArgs({ args: [...args], options })
  const measured = Number(values.measure)
  const rounds = Number(values.rounds)
  const folder = values.keep ?? mkdtempSync(join(tmpdir(), 'tidemark-bench-'))
  mkdirSync(folder, { recursive: true })
  const database = join(folder, 'tidemark.sqlite')
  console.log(values.whole ? 'the whole instance, search index and vectors included' : 'the content side alone')
  console.log('documents a second; in brackets processor time in ms for 1000 documents')
  console.log(
    ['stored', 'JSON, 1 sender', 'JSON, 4 senders', 'NDJSON stream', 'bare inserts', 'shares of bare']
      .map((name, i) => name.padStart(widths[i]!))
      .join(''),
  )

  let next = 0
  try {
    for (const stored of values.stored.split(',').map(Number)) {
      next = await fill(folder, next, stored, !values.whole)
      const copy = join(folder, 'copy.sqlite')
      // One database for the service and one for the bare inserts, the same to the byte.
      copyFileSync(database, copy)
      const server = await ServerProcess.start(folder, !values.whole)
      const { collector } = await server.prepare()
      const before = newestSequence(database)
      const step = (): { from: number; to: number } => {
        next += measured
        return { from: next - measured, to: next }
      }
      const best = async (send: (range: { from: number; to: number }) => Promise<number>): Promise<Figure> => {
        const figures: Figure[] = []
        for (let round = 0; round < rounds; round++) {
          const cpuBefore = await server.cpuMs()
          const perSecond = await send(step())
          figures.push({ perSecond, cpuMs: ((await server.cpuMs()) - cpuBefore) / (measured / 1000) })
        }
        return bestOf(figures)
      }
      const stream = await best((range) => sendStream(server, collector, range))
      const one = await best((range) => sendBatches(server, collector, range, 1))
      const four = await best((range) => sendBatches(server, collector, range, 4))
      await server.stop()
      const rows = readRows(database, before, 500)
      const perRound = Math.ceil(measured / 500)
      const bare = bestOf(
        Array.from({ length: rounds }, (_, i) => insertRows(copy, rows.slice(i * perRound, (i + 1) * perRound))),
      )
      const shares = [one, four, stream].map((each) => `${((100 * each.perSecond) / bare.perSecond).toFixed(0)} %`)
      const cells = [String(stored), ...[one, four, stream, bare].map(text), shares.join(' / ')]
      console.log(cells.map((cell, i) => cell.padStart(widths[i]!)).join(''))
      for (const suffix of ['', '-wal', '-shm']) rmSync(copy + suffix, { force: true })
    }
  } finally {
    if (values.keep === undefined) rmSync(folder, { recursive: true })
  }
}

/** Speed and processor time each at its best. */
function bestOf(figures: readonly Figure[]): Figure {
  return {
    perSecond: Math.max(...figures.map((one) => one.perSecond)),
    cpuMs: Math.min(...figures.map((one) => one.cpuMs)),
  }
}

/** Fills up to `stored` documents by one stream of lines, and tells what that took. */
async function fill(folder: string, from: number, stored: number, alone: boolean): Promise<number> {
  const server = await ServerProcess.start(folder, alone)
  try {
    const { collector } = await server.prepare()
    if (stored <= from) return from
    let anonymousMb = 0
    const sampling = setInterval(async () => {
      anonymousMb = Math.max(anonymousMb, (await server.memory())?.anonymousMb ?? 0)
    }, 200)
    const perSecond = await sendStream(server, collector, { from, to: stored })
    clearInterval(sampling)
    const memory = await server.memory()
    const index = alone ? null : await server.index()
    const told =
      (memory === null
        ? 'unknown here'
        : `${memory.peakMb.toFixed(0)} MB, not file-backed ${anonymousMb.toFixed(0)} MB`) +
      (index === null
        ? ''
        : `; at the end the index holds ${index.documents} documents in ${index.memoryMb.toFixed(0)} MB`)
    console.log(`(a stream of ${stored - from} lines: ${perSecond.toFixed(0)} a second; peak memory ${told})`)
    return stored
  } finally {
    await server.stop()
  }
}
