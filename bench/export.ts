/**
 * Documents a second that one consumer exports over HTTP, against the bare query that reads the same rows in the same
 * run; how the server's memory grows by it, and what other requests notice.
 *
 *   npm run bench -- export [--stored 20000,1000000] [--rounds 3] [--keep FOLDER] [--whole]
 *
 * The consumer, a thread of its own lest others who ask wait for it, takes every byte and looks at the last line alone; the bare side fetches the rows as objects by one
 * prepared statement in its own process, 250 at a time. A figure is the best of the rounds, ours and the bare one alike.
 * Aims: half of the bare rate, 100 MB, twice the time of others at the 99th percentile.
 */
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import type { TakeExport, TakenExport } from './export/take-export.ts'
import { BareConnection } from './support/bare-connection.ts'
import { newestSequence } from './support/bare-inserts.ts'
import { linesNowAndThen } from './support/lines-now-and-then.ts'
import { sendStream } from './support/send-documents.ts'
import { ServerProcess } from './support/server-process.ts'

const pageSize = 250
const probeEveryMs = 5
const probesAlone = 400

export async function run(args: readonly string[]): Promise<void> {
  const options = {
    stored: { type: 'string', default: '20000,1000000' },
    rounds: { type: 'string', default: '3' },
    keep: { type: 'string' },
    whole: { type: 'boolean', default: false },
  } as const
  const { values } = parseArgs({ args: [...args], options })
  const folder = values.keep ?? mkdtempSync(join(tmpdir(), 'tidemark-bench-'))
  mkdirSync(folder, { recursive: true })
  const database = join(folder, 'tidemark.sqlite')
  const report = linesNowAndThen()
  console.log(values.whole ? 'the whole instance' : 'the content side alone')
  try {
    for (const stored of values.stored.split(',').map(Number)) {
      const server = await ServerProcess.start(folder, !values.whole)
      const keys = await server.prepare()
      const there = newestSequence(database)
      const filled = (sent: number) => report(`${there + sent} of ${stored} documents are sent in`)
      if (there < stored) await sendStream(server, keys.collector, { from: there, to: stored }, filled)
      const probes = await prober(server, keys.consumer)
      const alone = p99(await probes.forCount(probesAlone))
      const restingMb = (await server.memory())?.anonymousMb ?? Number.NaN
      const grown: number[] = []
      const rates: number[] = []
      const bare: number[] = []
      const cpu: number[] = []
      const bareCpu: number[] = []
      const beside: number[] = []
      for (let round = 0; round < Number(values.rounds); round++) {
        report(`round ${round + 1} of ${values.rounds}`)
        const { perSecond, cpuMs } = readBare(database)
        bare.push(perSecond)
        bareCpu.push(cpuMs)
        const unwatched = await exportAll(server, keys.consumer, stored)
        rates.push(unwatched.perSecond)
        cpu.push(unwatched.cpuMs)
        grown.push(unwatched.mostMb - restingMb)
        const besides = new AbortController()
        const probing = probes.until(besides.signal)
        const { mostMb } = await exportAll(server, keys.consumer, stored)
        besides.abort()
        beside.push(p99(await probing))
        grown.push(mostMb - restingMb)
      }
      const [ours, theirs] = [Math.max(...rates), Math.max(...bare)]
      console.log(
        `${stored} stored: ${ours.toFixed(0)} documents/s over HTTP, ${theirs.toFixed(0)}/s by the bare query: ${((100 * ours) / theirs).toFixed(0)} % (aim 50); ` +
          `processor time per 1,000 documents ${Math.min(...cpu).toFixed(1)} ms of all threads, ${Math.min(...bareCpu).toFixed(1)} ms of the bare query; ` +
          `memory grew by ${Math.max(...grown).toFixed(0)} MB (aim 100); ` +
          `p99 of GET /v1/documents/ID ${alone.toFixed(1)} ms alone, ${Math.min(...beside).toFixed(1)} ms beside an export (aim twice)`,
      )
      probes.close()
      await server.stop()
    }
  } finally {
    if (values.keep === undefined) rmSync(folder, { recursive: true })
  }
}

/** One export from its first byte to its last, and the most memory that the server had meanwhile. */
async function exportAll(server: ServerProcess, key: string, stored: number) {
  let mostMb = 0
  const look = async (): Promise<void> => {
    mostMb = Math.max(mostMb, (await server.memory())?.anonymousMb ?? Number.NaN)
  }
  const looking = setInterval(look, 50)
  const cpuBefore = await server.cpuMs()
  const workerData: TakeExport = { address: server.address, key }
  const taking = new Worker(new URL('./export/take-export.ts', import.meta.url), { workerData })
  const [{ seconds, end }] = (await once(taking, 'message')) as [TakenExport]
  clearInterval(looking)
  const cpuMs = (await server.cpuMs()) - cpuBefore
  await look()
  if (end.type !== 'end' || end.documents < stored) throw new Error(`not everything: ${JSON.stringify(end)}`)
  return { perSecond: end.documents / seconds, cpuMs: cpuMs / (end.documents / 1000), mostMb }
}

/** The same columns of the same rows, without anybody to send them to. */
function readBare(path: string): { perSecond: number; cpuMs: number } {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    const columns = `document_id, dataset_id, source_platform, external_id, url, document.title, content_type, document.language, region, status,
      current_version_id, document.published_at, observed_at, author, topics, tags, classifications, score,
      version.version_id, version.title as version_title, version.language as version_language, version.published_at as version_published_at, body`
    const select = db.prepare(
      `select ${columns.replace('document_id', 'document.document_id')} from document join document_version as version on version.version_id = document.current_version_id
       where dataset_id = ? and document.document_id > ? order by document.document_id limit ?`,
    )
    let seen = 0
    const cpuBefore = process.cpuUsage()
    const startedMs = performance.now()
    for (let after = ''; ; ) {
      const rows = select.all('bench', after, pageSize)
      seen += rows.length
      if (rows.length < pageSize) break
      after = String(rows.at(-1)!.document_id)
    }
    const seconds = (performance.now() - startedMs) / 1000
    const { user, system } = process.cpuUsage(cpuBefore)
    return { perSecond: seen / seconds, cpuMs: (user + system) / seen }
  } finally {
    db.close()
  }
}

/** Somebody else, who reads a document now and then. */
async function prober(server: ServerProcess, key: string) {
  const [, line] = (await server.call(key, 'GET', '/v1/export?limit=1')).split('\n')
  const path = `/v1/documents/${JSON.parse(line!).document.id}`
  const connection = await BareConnection.open(server.address, key)
  const once = async (): Promise<number> => {
    const startedMs = performance.now()
    await connection.get(path)
    const tookMs = performance.now() - startedMs
    await delay(probeEveryMs)
    return tookMs
  }
  return {
    async forCount(count: number): Promise<number[]> {
      const times: number[] = []
      while (times.length < count) times.push(await once())
      return times
    },
    async until(signal: AbortSignal): Promise<number[]> {
      const times: number[] = []
      while (!signal.aborted) times.push(await once())
      return times
    },
    close: () => connection.close(),
  }
}

const p99 = (times: readonly number[]): number => times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)]!
