/**
 * An instance in use while documents arrive, which in production is always: 60 documents, 20 keyword, 5 vector and 5 hybrid
 * searches and 15 listings a second and one who reads the feed, on a server of its own with both built-in models.
 *
 *   npm run bench -- soak [--minutes 12] [--documents 1000] [--import 20000] [--share 1] [--folder FOLDER]
 *
 * First `--documents` are there and have all their vectors, enough that every page is full, and the reads alone are asked:
 * idle. Then everything, in turns with the writes alone, so that it can be told what searching takes from the making of
 * vectors. At the end `--import` documents come as fast as they are taken, besides the reads, until words find them all. The
 * feed must have told every document once.
 *
 * What memory takes a chunk is told over the whole run, and apart for the import, whose chunks have no vectors yet, as the slope
 * of a line through its readings: before, up to some 8,000 chunks, heaps and caches of the threads fill up to their bounds.
 *
 * Figures are ratios within the run; what else the machine does shows in them. A machine that cannot answer that much is asked for a
 * `--share` of it: questions that pile up say nothing of the server. The time is bounded: what is not done by then is said.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { quantile } from './search/client.ts'
import { FeedReader } from './soak/feed-reader.ts'
import { type Answers, kinds, MixedLoad, noAnswers } from './soak/mixed-load.ts'
import { memoryPartsOf } from './support/memory-of.ts'
import { adminToken, ServerProcess } from './support/server-process.ts'

/** Of the whole time. */
const idleShare = 0.2
const importShare = 0.2
/** Of the time between; the rest of it is for writes alone. */
const mixedShare = 0.75
const turns = 8

interface Reading {
  readonly chunks: number
  readonly waitingDocuments: number
  readonly waitingVectors: number
  readonly vectors: number
  readonly megabytes: number
  readonly serverMegabytes: number
  readonly indexMegabytes: number
}

type MemoryName = 'megabytes' | 'serverMegabytes' | 'indexMegabytes'

interface Aim {
  readonly what: string
  readonly figure: number
  readonly atMost: number
}

export async function run(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '12' },
      documents: { type: 'string', default: '1000' },
      import: { type: 'string', default: '20000' },
      share: { type: 'string', default: '1' },
      folder: { type: 'string' },
    },
  })
  const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'bench-soak-'))
  const soak = new Soak(folder, Number(values.minutes) * 60_000, Number(values.share))
  try {
    await soak.begin(Number(values.documents))
    await soak.idle()
    await soak.mixed()
    await soak.import(Number(values.import))
    await soak.end()
  } finally {
    await soak.stop()
    if (values.folder === undefined) rmSync(folder, { recursive: true, force: true })
  }
}

class Soak {
  readonly #folder: string
  readonly #wholeMs: number
  readonly #share: number
  readonly #startedAt = performance.now()
  #server!: ServerProcess
  #load!: MixedLoad
  #idleReading!: Reading
  #feed!: FeedReader
  readonly #idle = noAnswers()
  readonly #busy = noAnswers()
  readonly #aims: Aim[] = []
  /** From the import on: after minutes of everything else heaps and caches of the threads have filled. */
  readonly #filled: Reading[] = []

  constructor(folder: string, wholeMs: number, share: number) {
    this.#folder = folder
    this.#share = share
    this.#wholeMs = wholeMs
  }

  async begin(documents: number): Promise<void> {
    await this.#compileOnce()
    this.#server = await ServerProcess.start(this.#folder, false)
    const keys = await this.#server.prepare()
    this.#load = new MixedLoad(this.#server.address, keys, this.#share)
    this.#feed = new FeedReader(this.#server.address, keys.consumer)
    await this.#load.load(documents)
    this.#say(`${documents} documents are stored; their vectors are made`)
    for (let one = await this.#read(); one.waitingDocuments + one.waitingVectors > 0; one = await this.#read()) {
      if (this.#elapsedMs > this.#wholeMs)
        throw new Error(`${one.waitingVectors} vectors are still waited for: fewer --documents`)
      await delay(500)
    }
    // Code that has run a few hundred times is several times slower than what has been up for a minute.
    await this.#load.ask('reads', Math.min(10_000, this.#wholeMs / 12), noAnswers())
  }

  /**
   * The first server of a checkout loads what strips types from its source, which each thread keeps: 40 MB in all that an
   * installed package never has, and a restarted server neither.
   */
  async #compileOnce(): Promise<void> {
    const folder = mkdtempSync(join(tmpdir(), 'bench-soak-'))
    const server = await ServerProcess.start(folder, false)
    try {
      const load = new MixedLoad(server.address, await server.prepare(), this.#share)
      await load.load(10)
      await load.ask('both', Math.min(5000, this.#wholeMs / 24), noAnswers())
      load.close()
    } finally {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  }

  async idle(): Promise<void> {
    this.#say('idle: reads alone')
    const since = processorTimes()
    await this.#load.ask('reads', this.#wholeMs * idleShare, this.#idle)
    this.#idleReading = await this.#read()
    this.#tell(this.#idleReading)
    this.#say(
      `the processors were busy ${busyShare(since)} of the time: much more than the reads take says that others work here`,
    )
  }

  async mixed(): Promise<void> {
    this.#say('writes and reads, in turns with writes alone')
    const turnMs = (this.#wholeMs * (1 - idleShare - importShare)) / turns
    const made = { alone: { vectors: 0, ms: 0 }, beside: { vectors: 0, ms: 0 } }
    const lagsMs: number[] = []
    for (let turn = 0; turn < turns; turn++) {
      for (const [what, forMs, sum] of [
        ['writes', turnMs * (1 - mixedShare), made.alone],
        ['both', turnMs * mixedShare, made.beside],
      ] as const) {
        const [before, at] = [await this.#read(), performance.now()]
        const asked = this.#load.ask(what, forMs, what === 'both' ? this.#busy : noAnswers())
        if (what === 'both') lagsMs.push(await this.#load.untilFound())
        await asked
        sum.vectors += (await this.#read()).vectors - before.vectors
        sum.ms += performance.now() - at
      }
      const now = await this.#read()
      this.#tell(now)
      if (turn === turns - 1) this.#filled.push(now)
    }
    this.#tellTimes(this.#idle, this.#busy)
    const [alone, beside] = [made.alone, made.beside].map(({ vectors, ms }) => (vectors / ms) * 1000) as [
      number,
      number,
    ]
    this.#say(`vectors a second ${alone.toFixed(1)} beside writes alone, ${beside.toFixed(1)} beside everything`)
    this.#aims.push({
      what: 'vectors made beside writes alone / beside everything',
      figure: alone / beside,
      atMost: 1 / 0.85,
    })
    this.#aims.push({
      what: 'seconds until words find what was stored',
      figure: Math.max(...lagsMs) / 1000,
      atMost: 60,
    })
  }

  async import(documents: number): Promise<void> {
    if (documents === 0) return
    const before = (await this.#read()).chunks
    const startedAt = performance.now()
    const during = noAnswers()
    const isOver = (): boolean => performance.now() - startedAt > this.#wholeMs * importShare * 2
    let storedAt = Number.NaN
    let isFound = false
    const loading = this.#load.load(documents).then(() => {
      storedAt = performance.now()
    })
    const looking = (async () => {
      await loading
      const foundMs = await this.#load.untilFound()
      isFound = true
      return foundMs
    })()
    while (!isFound && !isOver()) {
      await this.#load.ask('reads', 2000, during)
      this.#filled.push(await this.#read())
    }
    const left = (await this.#read()).waitingDocuments
    if (!isFound)
      this.#say(
        `after ${((performance.now() - startedAt) / 1000).toFixed(0)} s ${left} documents of the import were not found by words yet`,
      )
    const lagMs = await looking
    const storedPerSecond = documents / ((storedAt - startedAt) / 1000)
    const now = await this.#read()
    this.#say(
      `import: ${documents} documents stored at ${storedPerSecond.toFixed(0)} a second, found by words at ` +
        `${((now.chunks - before) / ((performance.now() - startedAt) / 1000)).toFixed(0)} chunks a second`,
    )
    this.#tell(now)
    this.#tellTimes(this.#idle, during, 'import')
    this.#aims.push({ what: 'seconds until words find the last of an import', figure: lagMs / 1000, atMost: 60 })
  }

  async end(): Promise<void> {
    const faults = await this.#feed.compare(this.#load.stored)
    this.#load.close()
    const { size } = this.#load.stored
    this.#say(faults.length === 0 ? `the feed told each of ${size} documents once` : faults.join('\n'))
    const errors = [...this.#load.errors].map(([what, times]) => `${times} times ${what}`)
    this.#say(`${this.#load.answered} requests were answered; errors: ${errors.join(', ') || 'none'}`)
    this.#tellMemory()
    await this.#compareWithRestart()
    for (const { what, figure, atMost } of [
      ...this.#aims,
      { what: 'faults of the feed', figure: faults.length, atMost: 0 },
      { what: 'kinds of errors', figure: errors.length, atMost: 0 },
    ]) {
      console.log(
        `${figure <= atMost ? 'holds' : 'FAILS'}  ${what}: ${figure.toFixed(2)} (at most ${atMost.toFixed(2)})`,
      )
    }
  }

  async stop(): Promise<void> {
    await this.#server?.stop()
  }

  /** What the server alone takes: how many processes the models have just then is not the question. */
  async #compareWithRestart(): Promise<void> {
    const before = await this.#read()
    await this.#server.stop()
    this.#server = await ServerProcess.start(this.#folder, false)
    const keys = await this.#server.prepare()
    const load = new MixedLoad(this.#server.address, keys, this.#share)
    await load.ask('reads', Math.min(20_000, this.#wholeMs / 12), noAnswers())
    load.close()
    const after = await this.#read()
    this.#say(`server ${before.serverMegabytes.toFixed(0)} MB, after a restart ${after.serverMegabytes.toFixed(0)}`)
    const figure = before.serverMegabytes / after.serverMegabytes
    this.#aims.push({ what: 'memory / memory after a restart', figure, atMost: 1.3 })
  }

  get #elapsedMs(): number {
    return performance.now() - this.#startedAt
  }

  #say(line: string): void {
    console.log(`${(this.#elapsedMs / 1000).toFixed(0).padStart(4)} s  ${line}`)
  }

  #tell(one: Reading): void {
    this.#say(
      `${this.#load.stored.size} documents, ${one.chunks} chunks; wait for words ${one.waitingDocuments}, for vectors ` +
        `${one.waitingVectors}; memory ${one.megabytes.toFixed(0)} MB: server ${one.serverMegabytes.toFixed(0)}, of it index ${one.indexMegabytes.toFixed(0)}`,
    )
  }

  #tellMemory(): void {
    const [idle, from, to] = [this.#idleReading, this.#filled[0]!, this.#filled.at(-1)!]
    const whole = slope([idle, to], 'serverMegabytes')
    this.#say(
      `from ${idle.chunks} to ${to.chunks} chunks with ${to.vectors} vectors memory grew by ` +
        `${slope([idle, to], 'megabytes').toFixed(1)} KB a chunk: server ${whole.toFixed(1)}`,
    )
    // The models' processes come and go by hundreds of megabytes, whatever is stored.
    this.#aims.push({ what: "KB of the server's memory a chunk", figure: whole, atMost: 1.5 })
    if (this.#filled.length === 1) return
    const filled = slope(this.#filled, 'serverMegabytes')
    this.#say(
      `the server by ${(from.serverMegabytes - idle.serverMegabytes).toFixed(0)} MB up to ${from.chunks} chunks, of it index ` +
        `${(from.indexMegabytes - idle.indexMegabytes).toFixed(0)}, and by ${filled.toFixed(1)} KB a chunk from there on, ` +
        `of it index ${slope(this.#filled, 'indexMegabytes').toFixed(1)}`,
    )
    this.#aims.push({ what: 'the same, from the import on', figure: filled, atMost: 1.5 })
  }

  #tellTimes(idle: Answers, busy: Answers, when = ''): void {
    console.log(`${`ms ${when}`.padEnd(20)} answers   idle p50    p99   busy p50    p99   ratios p50   p99`)
    for (const kind of kinds) {
      const [a, b] = [idle[kind], busy[kind]].map((times) => times.toSorted((x, y) => x - y)) as [number[], number[]]
      const [a50, a99, b50, b99] = [quantile(a, 0.5), quantile(a, 0.99), quantile(b, 0.5), quantile(b, 0.99)] as const
      const cells = [a50, a99, b50, b99, b50 / a50, b99 / a99].map((ms, i) =>
        ms.toFixed(i < 4 ? 1 : 2).padStart([11, 7, 11, 7, 13, 6][i]!),
      )
      console.log(`${kind.padEnd(20)} ${String(b.length).padStart(7)}${cells.join('')}`)
      const named = when === '' ? kind : `${kind} (${when})`
      if (kind === 'vector' || kind === 'hybrid') {
        this.#aims.push({ what: `${named} p50, times idle`, figure: b50 / a50, atMost: 1.5 })
        this.#aims.push({ what: `${named} p99, times idle`, figure: b99 / a99, atMost: 3 })
      } else if (b.length > 0) {
        if (kind === 'keyword') this.#aims.push({ what: `${named} p50, times idle`, figure: b50 / a50, atMost: 1.3 })
        this.#aims.push({ what: `${named} p99, ms`, figure: b99, atMost: 25 })
      }
    }
  }

  async #read(): Promise<Reading> {
    const said = JSON.parse(await this.#server.call(adminToken, 'GET', '/admin/v1/indexing'))
    const { serverMb, modelsMb } = memoryPartsOf(this.#server.pid) ?? { serverMb: Number.NaN, modelsMb: Number.NaN }
    return {
      chunks: said.indexed_chunks,
      waitingDocuments: said.pending_documents,
      waitingVectors: said.pending_vectors,
      vectors: said.profiles.reduce((sum: number, one: { indexed_chunks: number }) => sum + one.indexed_chunks, 0),
      megabytes: serverMb + modelsMb,
      serverMegabytes: serverMb,
      indexMegabytes: said.memory_bytes / 1024 / 1024,
    }
  }
}

/** Kilobytes a chunk, of the line that is nearest to the readings, by least squares. */
function slope(readings: readonly Reading[], name: MemoryName): number {
  const mean = (of: (one: Reading) => number) => readings.reduce((sum, one) => sum + of(one), 0) / readings.length
  const [chunks, megabytes] = [mean((one) => one.chunks), mean((one) => one[name])]
  const along = mean((one) => (one.chunks - chunks) * (one[name] - megabytes))
  return (1024 * along) / mean((one) => (one.chunks - chunks) ** 2)
}

/** Of all processors since the system began: milliseconds busy, and in all. */
function processorTimes(): { readonly busy: number; readonly all: number } {
  const each = cpus().map(({ times }) => ({ idle: times.idle, all: Object.values(times).reduce((a, b) => a + b, 0) }))
  const sum = (name: 'idle' | 'all') => each.reduce((total, one) => total + one[name], 0)
  return { busy: sum('all') - sum('idle'), all: sum('all') }
}

function busyShare(since: ReturnType<typeof processorTimes>): string {
  const now = processorTimes()
  return `${((100 * (now.busy - since.busy)) / (now.all - since.all)).toFixed(0)} %`
}
