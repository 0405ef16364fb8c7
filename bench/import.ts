/**
 * Documents of 62 words are put in by `tidemark import` beside a server that is asked for words meanwhile.
 *
 *   npm run bench -- import [--documents 100000] [--vectors] [--opensearch]
 *
 * First 5,000 documents are there and searched in quiet. Told: what is stored and what is found by words in a second while
 * the import runs, how long after being stored a document is found (looked at every second), what searches take beside it and
 * afterwards, and the memory of the server then and after a restart. Aims: found within 60 s of being stored, searches at most
 * 1.3 times quiet, memory at most 1.3 times that after a restart. Quiet is before the import, and at its end, when there is
 * that much more to search. `--vectors` makes them as well: then searches are looked at while they are made, for a minute. `--opensearch` sends the same lines to an OpenSearch of one node afterwards (a JDK
 * and Maven bring it), as bulks by words alone, and compares how many documents a second are found at the end.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { importByBulk } from './import/bulk.ts'
import { vocabulary } from './support/documents.ts'
import { linesNowAndThen } from './support/lines-now-and-then.ts'
import { percentile } from './support/percentile.ts'
import { ServerProcess } from './support/server-process.ts'

const restFile = 'rest.ndjson'
const bodyWords = 62
const documentsBefore = 5000
const probesAlone = 500
const probeEveryMs = 10
const lookEveryMs = 1000
const withVectorsMs = 60_000
/** By then the thread that has read much for the index is let go. */
const restMs = 15_000

export async function run(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      documents: { type: 'string', default: '100000' },
      vectors: { type: 'boolean', default: false },
      opensearch: { type: 'boolean', default: false },
    },
  })
  if (!values.vectors) {
    process.env.TIDEMARK_EMBEDDING_URL = 'http://127.0.0.1:9/v1'
    process.env.TIDEMARK_EMBEDDING_MODEL = 'none'
  }
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-bench-'))
  try {
    const documents = Number(values.documents)
    const foundPerSecond = await measure(folder, documents, values.vectors)
    if (!values.opensearch) return
    const byBulk = await importByBulk(join(folder, restFile), documents)
    console.log(
      `from the first line until all are found by words: ${foundPerSecond.toFixed(0)} documents a second, beside searches; ` +
        `OpenSearch by bulks, with nothing beside it, ${byBulk.toFixed(0)}: ${(foundPerSecond / byBulk).toFixed(2)} of it`,
    )
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Documents that were found in a second, from the first line to the last. */
async function measure(folder: string, documents: number, vectors: boolean): Promise<number> {
  const first = join(folder, 'first.ndjson')
  const rest = join(folder, restFile)
  await write(first, 0, documentsBefore)
  await write(rest, documentsBefore, documentsBefore + documents)
  let server = await ServerProcess.start(folder, false)
  try {
    const { consumer } = await server.prepare()
    await importFile(folder, first)
    while ((await server.index()).documents < documentsBefore) await delay(100)
    const probe = prober(server, consumer)
    // What is compiled with the first searches is not what they take.
    await inQuiet(probe)
    const quiet = await inQuiet(probe)

    const report = linesNowAndThen()
    const startedAt = performance.now()
    const seconds = () => (performance.now() - startedAt) / 1000
    const looks: Look[] = []
    let storedAfter = Number.NaN
    const importing = importFile(folder, rest).then(() => {
      storedAfter = seconds()
    })
    const looking = (async () => {
      for (let found = 0; found < documents; await delay(lookEveryMs)) {
        const { documents: searchable, pending } = await server.index()
        found = searchable - documentsBefore
        looks.push({ at: seconds(), found, stored: found + pending })
        report(
          `${found} of ${documents} documents are found by words${Number.isNaN(storedAfter) ? '' : ', all are stored'}`,
        )
      }
    })()
    const during: number[] = []
    const after: number[] = []
    let isFound = false
    looking.then(() => {
      isFound = true
    })
    while (!isFound) {
      ;(Number.isNaN(storedAfter) ? during : after).push(await probe())
      await delay(probeEveryMs)
    }
    await Promise.all([importing, looking])

    const foundAtEnd = looks.findLast(({ at }) => at <= storedAfter)?.found ?? 0
    const last = looks.at(-1)!
    console.log(`stored: ${(documents / storedAfter).toFixed(0)} documents a second`)
    console.log(
      `found by words: ${(foundAtEnd / storedAfter).toFixed(0)} a second during the import, ` +
        `${((documents - foundAtEnd) / (last.at - storedAfter)).toFixed(0)} after it; the last ${(last.at - storedAfter).toFixed(1)} s after it was stored`,
    )
    console.log(`longest from stored to found, throughout: ${longestWait(looks).toFixed(1)} s (aim 60)`)
    const quietAfter = await inQuiet(probe)
    const middle = (times: readonly number[]) => `${percentile(times, 0.5).toFixed(1)} ms`
    console.log(`in quiet: p50 ${middle(quiet)} before, ${middle(quietAfter)} with all documents`)
    tell('while documents are stored', during, quiet, quietAfter)
    tell('while the last are made searchable', after, quiet, quietAfter)
    if (vectors) {
      const beside: number[] = []
      for (const until = performance.now() + withVectorsMs; performance.now() < until; await delay(probeEveryMs)) {
        beside.push(await probe())
      }
      tell('while vectors are made', beside, quiet, quietAfter)
    }
    const atOnce = (await server.memory())!.anonymousMb
    await delay(restMs)
    const { anonymousMb } = (await server.memory())!
    const { memoryMb } = await server.index()
    await server.stop()
    server = await ServerProcess.start(folder, false)
    const again = prober(server, consumer)
    for (let i = 0; i < probesAlone; i++) await again()
    const restarted = (await server.memory())!.anonymousMb
    console.log(
      `memory after the import ${atOnce.toFixed(0)} MB, ${restMs / 1000} s later ${anonymousMb.toFixed(0)} (the index ${memoryMb.toFixed(0)}), ` +
        `after a restart ${restarted.toFixed(0)}: ${(atOnce / restarted).toFixed(2)} and ${(anonymousMb / restarted).toFixed(2)} times (aim 1.3)`,
    )
    return documents / last.at
  } finally {
    await server.stop()
  }
}

interface Look {
  readonly at: number
  readonly stored: number
  readonly found: number
}

/** At each look, of the first document that is not found yet: since when it is stored. */
const longestWait = (looks: readonly Look[]): number =>
  Math.max(...looks.map(({ at, found }) => at - (looks.find(({ stored }) => stored > found)?.at ?? at)))

function tell(when: string, times: readonly number[], ...quiet: readonly (readonly number[])[]): void {
  if (times.length === 0) return
  const against = (p: number): string => {
    const value = percentile(times, p)
    return `${value.toFixed(1)} ms, ${quiet.map((one) => (value / percentile(one, p)).toFixed(2)).join(' and ')} times quiet`
  }
  console.log(`${times.length} searches ${when}: p50 ${against(0.5)} (aim 1.3); p99 ${against(0.99)}`)
}

async function inQuiet(probe: () => Promise<number>): Promise<number[]> {
  const times: number[] = []
  for (; times.length < probesAlone; await delay(probeEveryMs)) times.push(await probe())
  return times
}

async function importFile(folder: string, file: string): Promise<void> {
  const launcher = new URL('../bin/tidemark.js', import.meta.url).pathname
  const child = spawn(process.execPath, [launcher, 'import', file], {
    env: { ...process.env, TIDEMARK_DATA_DIR: folder },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`tidemark import ended with ${code}`)
}

/** Asks for one, two or three words in turn. */
function prober(server: ServerProcess, key: string): () => Promise<number> {
  let number = 0
  return async () => {
    number++
    const words = Array.from(
      { length: 1 + (number % 3) },
      (_, i) => vocabulary[(number * 7 + i * 13) % vocabulary.length],
    )
    const startedAt = performance.now()
    await server.call(key, 'POST', '/v1/search/keyword', JSON.stringify({ query: words.join(' ') }))
    return performance.now() - startedAt
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
    // Some words are everywhere, most are rare, as in a language.
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
