/**
 * Measures `tidemark import` of documents of 62 words, while a server answers keyword searches.
 *
 *   npm run bench -- import [DOCUMENTS] [--vectors]      default: 100000
 *
 * First the idle server is measured with 5,000 documents. Aims: every document is found within 60 s of being stored,
 * searches take at most 1.3 times as long as on the idle server, and memory is at most 1.3 times that after a restart.
 * The idle server is measured again at the end, with all documents. `--vectors` computes vectors too, and measures a
 * minute more meanwhile.
 */
import { once } from 'node:events'
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { noVectors } from '../test/acceptance/harness.ts'
import { type Client, parsed } from './support/client.ts'
import { vocabulary } from './support/documents.ts'
import { memoryPartsOf } from './support/process-figures.ts'
import { progress } from './support/progress.ts'
import { ServerProcess, tidemark } from './support/server-process.ts'
import { quantile } from './support/times.ts'

const bodyWords = 62
const documentsBefore = 5000
const idleProbes = 500
const probeEveryMs = 10
const sampleEveryMs = 1000
const besideVectorsMs = 60_000

export async function run(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { vectors: { type: 'boolean', default: false } },
  })
  const folder = mkdtempSync(join(tmpdir(), 'bench-import-'))
  try {
    await measure(folder, Number(positionals[0] ?? 100_000), values.vectors)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function measure(folder: string, documents: number, makesVectors: boolean): Promise<void> {
  const env = makesVectors ? {} : noVectors
  const [first, rest] = [join(folder, 'first.ndjson'), join(folder, 'rest.ndjson')]
  await write(first, 0, documentsBefore)
  await write(rest, documentsBefore, documentsBefore + documents)
  let server = await ServerProcess.start(folder, env)
  try {
    const { consumer } = await server.prepare()
    await importFile(folder, env, first)
    while ((await server.index()).indexed_documents < documentsBefore) await delay(100)
    const probe = prober(consumer)
    // Warms up.
    await whenIdle(probe)
    const before = await whenIdle(probe)
    const { during, after } = await importBeside(server, () => importFile(folder, env, rest), documents, probe)
    const idle = [before, await whenIdle(probe)]
    console.log(
      `searches on the idle server: p50 ${idle.map((one) => ms(one, 0.5)).join(' before, ')} with all documents`,
    )
    report('while documents are stored', during, idle)
    report('while the last are made searchable', after, idle)
    if (makesVectors) {
      const beside: number[] = []
      for (const until = performance.now() + besideVectorsMs; performance.now() < until; await delay(probeEveryMs)) {
        beside.push(await probe())
      }
      report('while vectors are computed', beside, idle)
    }
    const { serverMb } = memoryPartsOf(server.pid)
    await server.stop()
    server = await ServerProcess.start(folder, env)
    await whenIdle(prober((await server.prepare()).consumer))
    const restarted = memoryPartsOf(server.pid).serverMb
    console.log(
      `memory of the server ${serverMb.toFixed(0)} MB, after a restart ${restarted.toFixed(0)}: ` +
        `${(serverMb / restarted).toFixed(2)} times (aim 1.3)`,
    )
  } finally {
    await server.stop()
  }
}

interface Sample {
  readonly at: number
  readonly stored: number
  readonly found: number
}

/** Searches during the import, and after it until all documents are found. */
async function importBeside(
  server: ServerProcess,
  runImport: () => Promise<void>,
  documents: number,
  probe: () => Promise<number>,
): Promise<{ during: number[]; after: number[] }> {
  const startedMs = performance.now()
  const seconds = () => (performance.now() - startedMs) / 1000
  let storedAfter = Number.NaN
  const importing = runImport().then(() => {
    storedAfter = seconds()
  })
  const samples: Sample[] = []
  const sampling = (async () => {
    for (let found = 0; found < documents; await delay(sampleEveryMs)) {
      const { indexed_documents, pending_documents } = await server.index()
      found = indexed_documents - documentsBefore
      samples.push({ at: seconds(), found, stored: found + pending_documents })
      progress(`${found} of ${documents} documents are found by words`)
    }
    progress('')
    return true
  })()
  const [during, after]: [number[], number[]] = [[], []]
  let isFound = false
  sampling.then((found) => {
    isFound = found
  })
  while (!isFound) {
    ;(Number.isNaN(storedAfter) ? during : after).push(await probe())
    await delay(probeEveryMs)
  }
  await Promise.all([importing, sampling])
  const last = samples.at(-1)!.at
  console.log(
    `stored ${(documents / storedAfter).toFixed(0)} documents a second, found by words ${(documents / last).toFixed(0)}; ` +
      `the longest from stored to found ${longestWait(samples).toFixed(1)} s (aim 60)`,
  )
  return { during, after }
}

/** For each sample, how long the first document that is not found yet has been stored. */
const longestWait = (samples: readonly Sample[]): number =>
  Math.max(...samples.map(({ at, found }) => at - (samples.find(({ stored }) => stored > found)?.at ?? at)))

const sorted = (times: readonly number[]): number[] => times.toSorted((a, b) => a - b)
const ms = (times: readonly number[], share: number): string => `${quantile(sorted(times), share).toFixed(1)} ms`

function report(when: string, times: readonly number[], idle: readonly (readonly number[])[]): void {
  if (times.length === 0) return
  const against = (share: number): string => {
    const ratios = idle.map((one) => (quantile(sorted(times), share) / quantile(sorted(one), share)).toFixed(2))
    return `${ms(times, share)}, ${ratios.join(' and ')} times idle`
  }
  console.log(`${times.length} searches ${when}: p50 ${against(0.5)} (aim 1.3); p99 ${against(0.99)}`)
}

async function whenIdle(probe: () => Promise<number>): Promise<number[]> {
  const times: number[] = []
  for (; times.length < idleProbes; await delay(probeEveryMs)) times.push(await probe())
  return times
}

async function importFile(folder: string, env: Readonly<Record<string, string>>, file: string): Promise<void> {
  const [code] = await once(tidemark(['import', file], folder, env, 'ignore'), 'exit')
  if (code !== 0) throw new Error(`tidemark import ended with ${code}`)
}

/** Searches for one, two and three words in turn. */
function prober(client: Client): () => Promise<number> {
  let number = 0
  return async () => {
    number++
    const words = Array.from(
      { length: 1 + (number % 3) },
      (_, i) => vocabulary[(number * 7 + i * 13) % vocabulary.length],
    )
    const startedMs = performance.now()
    parsed(await client.send('POST', '/v1/search/keyword', JSON.stringify({ query: words.join(' ') })))
    return performance.now() - startedMs
  }
}

async function write(path: string, from: number, to: number): Promise<void> {
  const file = createWriteStream(path)
  for (let i = from; i < to; i++) if (!file.write(`${line(i)}\n`)) await once(file, 'drain')
  file.end()
  await once(file, 'finish')
}

function line(number: number): string {
  let state = number + 1
  const words = Array.from({ length: bodyWords }, (_, i) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    // Some words are everywhere and most are rare, as in a language.
    return i % 4 === 0 ? `w${(state >>> 4) % 200_000}` : vocabulary[(state >>> 8) % vocabulary.length]
  })
  return JSON.stringify({
    dataset_id: 'bench',
    source_platform: 'web',
    external_id: `import-${number}`,
    language: 'en',
    title: `Title ${number}`,
    body: words.join(' '),
  })
}
