/**
 * The embedded search index beside SQLite FTS5, same corpus, same filters, one run.
 *
 *   npm run bench -- index [--chunks 100000,1000000] [--no-fts5] [--no-vectors] [--at FILE]
 *   npm run bench -- index --counts [--chunks 1000000] [--at FILE]
 *   npm run bench -- index --embeddings FILE
 *   npm run bench -- index --kill 50
 *
 * `--at` keeps the index in that file, and uses what is there. `--counts` measures facets, orders,
 * conditions and values alone. `--embeddings` measures recall on real vectors: a file of
 * float32, little-endian, 384 to a row; the last 200 rows are the queries. `--kill` ends a writing process that many times
 * with SIGKILL and compares what is there afterwards with what should be.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type KeywordPosition, noFilters, type SearchIndex } from '../src/search/search-index.ts'
import { openSegmentsIndex } from '../src/storage/segments/segments-index.ts'
import { corpus, drawVector, kinds, profileId, randomFrom, type ScopeName, scopeOf, scopes } from './index/corpus.ts'
import { countCells } from './index/counts.ts'
import { Fts5 } from './index/fts5.ts'
import { killRounds } from './index/kill.ts'
import { recallOfFile } from './index/recall.ts'

const queriesPerCell = 200
const ftsQueriesPerCell = 9
const timeoutMs = 60_000
const searchMs = 4000

export async function run(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      chunks: { type: 'string', default: '100000,1000000' },
      fts5: { type: 'boolean', default: true },
      vectors: { type: 'boolean', default: true },
      embeddings: { type: 'string' },
      kill: { type: 'string' },
      counts: { type: 'boolean', default: false },
      at: { type: 'string' },
    },
    allowNegative: true,
  })
  if (values.kill !== undefined) return killRounds(Number(values.kill))
  if (values.embeddings !== undefined) return recallOfFile(values.embeddings)
  if (values.counts) return measureCounts(Number(values.chunks.split(',').at(-1)), values.at)
  for (const chunks of values.chunks.split(',').map(Number))
    await measure(chunks, values.vectors, values.fts5, values.at)
}

async function measure(chunks: number, vectors: boolean, fts5: boolean, at: string | undefined): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-index-'))
  const path = at ?? join(folder, 'index.db')
  try {
    console.log(`\n# ${chunks} chunks${vectors ? ' with vectors' : ''}`)
    // Another process fills, so that what is loaded here is loaded, and the memory measured is that of a fresh start.
    if (!existsSync(path)) {
      await timed('filled and merged', () =>
        inChild(new URL('./index/fill.ts', import.meta.url), path, String(chunks), vectors ? 'vectors' : ''),
      )
    }
    const index = await timed('loaded', () => openSegmentsIndex({ path }))
    console.log(`file ${megabytes(statSync(path).size)}`)
    await reportMemory(index)
    const cells = await keywordCells(index)
    if (vectors) {
      await vectorCells(index)
      await scoreCells(index)
    }
    await pageCells(index)
    console.log('\n# large searches shared by the threads')
    await callers(index)
    await whileWriting(index, chunks)
    await index.close()
    console.log('\n# each search by one thread')
    const unshared = await openSegmentsIndex({ path, splitFromChunks: Number.POSITIVE_INFINITY })
    await callers(unshared)
    await whileWriting(unshared, chunks)
    await unshared.close()
    if (fts5) compareWithFts5(chunks, cells)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measureCounts(chunks: number, at: string | undefined): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-index-'))
  const path = at ?? join(folder, 'index.db')
  try {
    if (!existsSync(path)) await inChild(new URL('./index/fill.ts', import.meta.url), path, String(chunks), '')
    const index = await openSegmentsIndex({ path })
    await reportMemory(index)
    console.log(`\n# ${chunks} chunks, load of the machine ${loadavg()[0]!.toFixed(1)}`)
    console.log('a common word, ms                     p50       p99   matches')
    await countCells(index, (name, times, matches) => console.log(row(name, times, matches, 32)))
    await index.close()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function reportMemory(index: Awaited<ReturnType<typeof openSegmentsIndex>>): Promise<void> {
  const health = await index.health()
  console.log(`${health.segments} segments, ${health.terms} terms, ${megabytes(health.memoryBytes)} in the index`)
  console.log(`resident ${megabytes(process.memoryUsage.rss())}`)
  const parts = Object.entries(health.parts).map(([name, bytes]) => `${name} ${(bytes / health.chunks).toFixed(1)}`)
  console.log(`bytes a chunk: ${parts.join(', ')}`)
}

type Cells = Map<string, number>

async function keywordCells(index: SearchIndex): Promise<Cells> {
  const cells: Cells = new Map()
  console.log(`\nload of the machine ${loadavg()[0]!.toFixed(1)}`)
  console.log('keyword, one caller, ms      p50       p99   matches')
  for (const [kind, make] of Object.entries(kinds)) {
    for (const name of Object.keys(scopes) as ScopeName[]) {
      const random = randomFrom(7)
      const times: number[] = []
      let matches = 0
      for (let i = 0; i < queriesPerCell + 20; i++) {
        const { query } = make(random)
        const start = performance.now()
        const page = await index.keyword({ query, ...asked(name), limit: 20, after: null, otherChunksMax: 3 })
        // The first few warm the caches up, as the first seconds of a service do.
        if (i >= 20) times.push(performance.now() - start)
        if (page.outcome === 'found') matches += page.totalChunks
      }
      cells.set(`${kind} ${name}`, quantile(times, 0.5))
      console.log(row(`${kind} ${name}`, times, Math.round(matches / (queriesPerCell + 20))))
    }
  }
  return cells
}

const asked = (name: Parameters<typeof scopeOf>[0]) => ({ scope: scopeOf(name), filters: noFilters, timeoutMs })

async function vectorCells(index: SearchIndex): Promise<void> {
  console.log('\nvector, one caller, ms')
  for (const topK of [20, 200]) {
    for (const name of ['100 %', '50 %', '5 %', '0.1 %'] as const) {
      const random = randomFrom(8)
      const times: number[] = []
      let found = 0
      for (let i = 0; i < 60; i++) {
        const vector = drawVector(random)
        const start = performance.now()
        const page = await index.vector({ profileId, vector, ...asked(name), topK })
        if (i >= 10) times.push(performance.now() - start)
        if (page.outcome === 'found') found = page.hits.length
      }
      console.log(row(`top ${topK} ${name}`, times, found))
    }
  }
}

/** What hybrid search asks: both branches' candidates, and what each of them scores in the other branch. */
async function scoreCells(index: SearchIndex): Promise<void> {
  const random = randomFrom(10)
  const times: number[] = []
  let scored = 0
  for (let i = 0; i < 60; i++) {
    const vector = drawVector(random)
    const { query } = kinds['three words OR']!(random)
    const pages = await Promise.all([
      index.vector({ profileId, vector, ...asked('50 %'), topK: 200 }),
      index.keyword({ query, ...asked('50 %'), limit: 200, after: null, otherChunksMax: 0 }),
    ])
    const hits = pages.flatMap((page) => (page.outcome === 'found' ? page.hits : []))
    const documentIds = [...new Set(hits.map((hit) => hit.documentId))]
    const start = performance.now()
    const page = await index.score({ documentIds, query, vector: { profileId, vector }, ...asked('50 %') })
    if (i >= 10) times.push(performance.now() - start)
    if (page.outcome === 'found') scored = page.scores.length
  }
  console.log('\nscores of given documents, ms')
  console.log(row('both branches 50 %', times, scored))
}

async function pageCells(index: SearchIndex): Promise<void> {
  console.log('\npage 50 of 20, 50 %, ms')
  for (const kind of ['common', 'three words OR']) {
    const random = randomFrom(9)
    const times: number[] = []
    for (let i = 0; i < 20; i++) {
      const { query } = kinds[kind]!(random)
      let after: KeywordPosition | null = null
      for (let page = 1; page <= 50; page++) {
        const start = performance.now()
        const found = await index.keyword({ query, ...asked('50 %'), limit: 20, after, otherChunksMax: 3 })
        if (page === 50) times.push(performance.now() - start)
        if (found.outcome !== 'found' || found.next === null) break
        after = found.next
      }
    }
    console.log(row(kind, times, times.length))
  }
}

/** One search after the other until the time is over; the kinds in turn. Returns searches a second. */
async function searchFor(index: SearchIndex, ms: number, seed: number, times: number[] = []): Promise<number> {
  const random = randomFrom(seed)
  const makers = Object.values(kinds)
  const end = performance.now() + ms
  let searches = 0
  for (; performance.now() < end; searches++) {
    const { query } = makers[searches % makers.length]!(random)
    const start = performance.now()
    await index.keyword({ query, ...asked('50 %'), limit: 20, after: null, otherChunksMax: 3 })
    times.push(performance.now() - start)
  }
  return (searches * 1000) / ms
}

async function callers(index: SearchIndex): Promise<void> {
  const one = await searchFor(index, searchMs, 11)
  const four = await Promise.all([12, 13, 14, 15].map((seed) => searchFor(index, searchMs, seed)))
  const sum = four.reduce((total, rate) => total + rate, 0)
  console.log(`\nload of the machine ${loadavg()[0]!.toFixed(1)}`)
  console.log(`one caller ${one.toFixed(0)}/s, four callers ${sum.toFixed(0)}/s: ${(sum / one).toFixed(2)} x`)
}

async function whileWriting(index: SearchIndex, chunks: number): Promise<void> {
  const quiet: number[] = []
  const busy: number[] = []
  const writes: number[] = []
  const before = await searchFor(index, searchMs, 21, quiet)
  const source = corpus(chunks, true)
  const timer = setInterval(() => {
    const put = source.next().value
    if (put === undefined) return
    const start = performance.now()
    void index.apply({ position: null, changes: [{ ...put, versionId: `${put.versionId}n` }] }).then(() => {
      writes.push(performance.now() - start)
    })
  }, 20)
  const during = await searchFor(index, searchMs * 2, 21, busy)
  clearInterval(timer)
  const slower = ((before - during) / before) * 100
  console.log(
    `\n50 document writes a second: ${before.toFixed(0)} -> ${during.toFixed(0)} searches/s, ${slower.toFixed(1)} % slower`,
  )
  console.log(row('searches before', quiet, quiet.length))
  console.log(row('searches during', busy, busy.length))
  console.log(row('write to visible', writes, writes.length))
}

function compareWithFts5(chunks: number, cells: Cells): void {
  const start = performance.now()
  const fts = new Fts5(chunks)
  console.log(`\nFTS5 filled in ${((performance.now() - start) / 1000).toFixed(1)} s`)
  console.log('ms, p50                 segments   by rank          by bm25()')
  for (const [kind, make] of Object.entries(kinds)) {
    for (const name of Object.keys(scopes) as ScopeName[]) {
      const ours = cells.get(`${kind} ${name}`)!
      const columns = (['rank', 'bm25(fts, 3.0, 1.0)'] as const).map((order) => {
        const random = randomFrom(7)
        const times: number[] = []
        for (let i = 0; i < ftsQueriesPerCell; i++) {
          const { match } = make(random)
          const begun = performance.now()
          fts.search(match, name, order)
          times.push(performance.now() - begun)
        }
        const theirs = quantile(times, 0.5)
        return `${ms(theirs)} ${`${(theirs / ours).toFixed(1)} x`.padStart(8)}`
      })
      console.log(`${`${kind} ${name}`.padEnd(22)} ${ms(ours)} ${columns.join(' ')}`)
    }
  }
  fts.close()
}

async function inChild(file: URL, ...args: string[]): Promise<void> {
  const child = spawn(process.execPath, [fileURLToPath(file), ...args], { stdio: 'inherit' })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`${file.pathname} ended with ${code}`)
}

async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const start = performance.now()
  const result = await work()
  console.log(`${what} in ${((performance.now() - start) / 1000).toFixed(1)} s`)
  return result
}

function quantile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

const ms = (value: number): string => value.toFixed(2).padStart(9)
const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`

function row(name: string, times: readonly number[], count: number, width = 22): string {
  return `${name.padEnd(width)} ${ms(quantile(times, 0.5))} ${ms(quantile(times, 0.99))} ${String(count).padStart(9)}`
}
