/**
 * Texts a second and CPU a text of a built-in model, by length of text and by threads, and what a query waits while
 * passages are embedded. `bare` is the session alone, one text a run, in this process with the tokens given; `share` what
 * part of the CPU of the whole (model process and this one) that is: it can be told on a busy machine too.
 * Arguments: `--seconds N` for each measurement (2), `--threads 1,2`, `--model ID`.
 */
import type { ChildProcess } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { BuiltInEmbedder, startModelProcess } from '../src/embedding/built-in-embedder.ts'
import { loadBuiltInModel } from '../src/embedding/built-in-model.ts'
import { type BuiltInModel, builtInModel, builtInModels } from '../src/embedding/built-in-models.ts'
import { QueryCache } from '../src/embedding/query-cache.ts'

const wordCounts = [5, 25, 50, 100, 200, 400]

const vocabulary =
  `storm harvest engine violin treaty planet court season vaccine bridge election mountain market river theory
  protein the of and to a in is was for on with as by at from report officials said after new year people city`
    .split(/\s+/)
    .filter((word) => word !== '')

/** The same texts in every run: a small linear congruential generator picks the words. */
function texts(count: number, words: number): string[] {
  let state = words
  const word = (): string => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return vocabulary[state % vocabulary.length]!
  }
  return Array.from({ length: count }, () => Array.from({ length: words }, word).join(' '))
}

/** CPU and memory of a process as Linux tells them; `null` elsewhere. */
async function usageOf(pid: number): Promise<{ cpuMs: number; rssMb: number } | null> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    // After the name, which can hold anything: user and system time are fields 14 and 15, in hundredths of a second.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const rss = /VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))
    return { cpuMs: (Number(fields[11]) + Number(fields[12])) * 10, rssMb: Number(rss?.[1]) / 1024 }
  } catch {
    return null
  }
}

/** User and system time of this process since then. */
function cpuMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since)
  return (user + system) / 1000
}

const percentile = (sorted: readonly number[], share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0

async function measureThreads(of: BuiltInModel, threads: number, seconds: number): Promise<void> {
  let model: ChildProcess | null = null
  const startProcess: typeof startModelProcess = (...started) => {
    model = startModelProcess(...started)
    return model
  }
  const embedder = new BuiltInEmbedder(of, { threads, startProcess })
  try {
    const startedMs = performance.now()
    await embedder.embed(['first'], 'query')
    console.log(`${of.id}, threads ${threads}: first vector after ${(performance.now() - startedMs).toFixed(0)} ms`)
    const pid = (model as ChildProcess | null)?.pid ?? 0
    const bare = await loadBuiltInModel(of, of.directory, threads)
    console.log('words  tokens  texts/s  ms/text  CPU ms/text  bare   share  RSS MB')
    for (const words of wordCounts) {
      const passages = texts(32, words)
      const tokens = passages.map((text) => bare.tokens(text, 'passage'))
      await embedder.embed(passages.slice(0, 2), 'passage')
      await bare.run(tokens[0]!)
      let done = 0
      let wallMs = 0
      let wholeMs = 0
      let bareMs = 0
      const untilMs = performance.now() + seconds * 1_000
      // In turn, so that what else the machine does is the same for both.
      while (performance.now() < untilMs) {
        const [before, fromMs, own] = [await usageOf(pid), performance.now(), process.cpuUsage()]
        await embedder.embed(passages, 'passage')
        wallMs += performance.now() - fromMs
        wholeMs += cpuMs(own) + ((await usageOf(pid))?.cpuMs ?? Number.NaN) - (before?.cpuMs ?? Number.NaN)
        const alone = process.cpuUsage()
        for (const one of tokens) await bare.run(one)
        bareMs += cpuMs(alone)
        done += passages.length
      }
      const cells = [
        words,
        tokens[0]!.length,
        ((done / wallMs) * 1e3).toFixed(1),
        (wallMs / done).toFixed(1),
        (wholeMs / done).toFixed(1),
        (bareMs / done).toFixed(1),
        `${((bareMs / wholeMs) * 100).toFixed(0)} %`,
        (await usageOf(pid))?.rssMb.toFixed(0),
      ]
      console.log(cells.map((cell, i) => String(cell).padEnd([7, 8, 9, 9, 13, 7, 7, 6][i]!)).join(''))
    }
    await measureQueries(embedder, seconds, false)
    await measureQueries(embedder, seconds, true)
  } finally {
    await embedder.close()
  }
}

/** One query after another; with passages of 200 words always waiting, or without. */
async function measureQueries(embedder: BuiltInEmbedder, seconds: number, loaded: boolean): Promise<void> {
  const stop = new AbortController()
  const passages = texts(200, 200)
  const load = async (): Promise<void> => {
    while (loaded && !stop.signal.aborted) await embedder.embed(passages, 'passage', stop.signal).catch(() => {})
  }
  const loading = load()
  const times: number[] = []
  const untilMs = performance.now() + seconds * 1_000
  for (const query of texts(100_000, 8)) {
    const fromMs = performance.now()
    if (fromMs > untilMs) break
    await embedder.embed([query], 'query')
    times.push(performance.now() - fromMs)
  }
  stop.abort()
  await loading
  times.sort((a, b) => a - b)
  const figures = [0.5, 0.95, 0.99].map((share) => percentile(times, share).toFixed(1)).join(' / ')
  console.log(`query of 8 words${loaded ? ', passages waiting' : ''}: p50 / p95 / p99 ${figures} ms`)
}

async function measureCache(of: BuiltInModel): Promise<void> {
  const embedder = new BuiltInEmbedder(of)
  const cache = new QueryCache()
  await cache.embed(embedder, 'the same question')
  const rounds = 100_000
  const fromMs = performance.now()
  for (let i = 0; i < rounds; i++) await cache.embed(embedder, 'the same question')
  console.log(`a query in the cache: ${(((performance.now() - fromMs) / rounds) * 1e3).toFixed(1)} µs`)
  await embedder.close()
}

export async function run(args: readonly string[]): Promise<void> {
  const options = {
    seconds: { type: 'string', default: '2' },
    threads: { type: 'string', default: '1,2' },
    model: { type: 'string', default: builtInModels.bgeSmallEn.id },
  } as const
  const { values } = parseArgs({ args: [...args], options })
  const of = builtInModel(values.model)
  if (of === undefined) throw new Error(`there is no built-in model ${values.model}`)
  for (const threads of values.threads.split(',')) await measureThreads(of, Number(threads), Number(values.seconds))
  await measureCache(of)
}
