/**
 * Measures the embedded search index in this process, without a server: keyword search beside SQLite FTS5 with the same
 * chunks and filters, vector search, facets, several callers at once, and searches while documents arrive.
 *
 *   npm run bench -- index [CHUNKS] [--folder FOLDER]      default: 100000
 *
 * FOLDER is filled if it is empty, and kept. Shares are those of the corpus that the caller may read.
 */
import { cpSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import type { SearchIndex } from '../src/indexing/fed-index.ts'
import { type KeywordRequest, noFilters } from '../src/search/search-index.ts'
import { indexPath } from '../src/storage/segments/file/index-files.ts'
import { openSegmentsIndex } from '../src/storage/segments/segments-index.ts'
import { parseQuery } from '../src/text/parse-query.ts'
import {
  corpus,
  draws,
  drawVector,
  profileId,
  type Random,
  randomFrom,
  type ScopeName,
  scopeOf,
  scopes,
  valuesOf,
} from './corpus/corpus.ts'
import { fillFolder } from './corpus/fill-folder.ts'
import { quantile } from './support/times.ts'

const timeoutMs = 60_000
const searchesEach = 200
/** One search of FTS5 can take seconds. */
const ftsSearchesEach = 9
const runMs = 4000
const writeEveryMs = 20
const shares = Object.keys(scopes) as ScopeName[]

export async function run(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { folder: { type: 'string' } },
  })
  const chunks = Number(positionals[0] ?? 100_000)
  const scratch = mkdtempSync(join(tmpdir(), 'bench-index-'))
  const folder = values.folder ?? join(scratch, 'data')
  const path = join(scratch, 'index')
  try {
    fillFolder(folder, chunks)
    cpSync(indexPath(folder, 1), path)
    const startedMs = performance.now()
    const index = await openSegmentsIndex({ path })
    const loadedMs = performance.now() - startedMs
    const { segments, terms, memoryBytes } = await index.health()
    console.log(
      `${chunks} chunks in ${segments} segments, ${terms} terms, ${(memoryBytes / 1e6).toFixed(0)} MB of memory, ` +
        `${(statSync(path).size / 1e6).toFixed(0)} MB on disk; loaded in ${(loadedMs / 1000).toFixed(1)} s`,
    )
    await byWords(index, new Fts5(chunks))
    await byVectors(index)
    await withFacets(index)
    await byCallers(index)
    await whileWriting(index, chunks)
    await index.close()
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

const page = { filters: noFilters, limit: 20, after: null, otherChunksMax: 3, timeoutMs }
const queryOf = (words: readonly string[]) => parseQuery(words.join(' '), null)

/** The first tenth warms up and is not counted. */
async function timesOf(count: number, ask: () => unknown): Promise<number[]> {
  const times: number[] = []
  for (let i = 0; i < count * 1.1; i++) {
    const startedMs = performance.now()
    await ask()
    times.push(performance.now() - startedMs)
  }
  return times.slice(-count).sort((a, b) => a - b)
}

const head = (name: string, more = ''): void => console.log(`\n${name.padEnd(32)}     p50 ms    p99 ms${more}`)
function row(name: string, times: readonly number[], more = ''): void {
  const cells = [0.5, 0.99].map((share) => quantile(times, share).toFixed(2).padStart(10))
  console.log(`${name.padEnd(32)} ${cells.join('')}${more}`)
}

async function byWords(index: SearchIndex, fts: Fts5): Promise<void> {
  head('words', '   FTS5 p50   times')
  for (const [kind, draw] of Object.entries(draws)) {
    for (const share of shares) {
      const [random, again] = [randomFrom(7), randomFrom(7)]
      const request = { ...page, scope: scopeOf(share) }
      const times = await timesOf(searchesEach, () => index.keyword({ ...request, query: queryOf(draw(random)) }))
      const theirs = quantile(await timesOf(ftsSearchesEach, () => fts.search(draw(again), share)), 0.5)
      const ratio = (theirs / quantile(times, 0.5)).toFixed(1)
      row(`${kind}, ${share}`, times, `${theirs.toFixed(2).padStart(11)}${ratio.padStart(8)}`)
    }
  }
  fts.close()
}

async function byVectors(index: SearchIndex): Promise<void> {
  head('vectors')
  for (const topK of [20, 200]) {
    for (const share of shares) {
      const random = randomFrom(8)
      const request = { profileId, scope: scopeOf(share), filters: noFilters, topK, timeoutMs }
      row(
        `best ${topK}, ${share}`,
        await timesOf(searchesEach / 4, () => index.vector({ ...request, vector: drawVector(random) })),
      )
    }
  }
}

/** Requested with a common word, which matches the most documents and so has the most to count. */
const additions: Readonly<Record<string, Partial<KeywordRequest>>> = {
  'no facets': {},
  'platform, language, day': { facets: { of: ['platform', 'language', { published_at: 'day' }], limit: 10 } },
  'topics, tags, author': { facets: { of: ['topics', 'tags', 'author'], limit: 10 } },
  'newest first': { order: '-published_at' },
}

async function withFacets(index: SearchIndex): Promise<void> {
  head('a common word with facets, 50 %')
  for (const [name, more] of Object.entries(additions)) {
    const random = randomFrom(31)
    const request = { ...page, scope: scopeOf('50 %'), ...more }
    row(
      name,
      await timesOf(searchesEach / 2, () => index.keyword({ ...request, query: queryOf(draws.common!(random)) })),
    )
  }
}

/** Runs keyword searches of all kinds in turn until the time is over. */
async function searchFor(index: SearchIndex, ms: number, random: Random): Promise<number[]> {
  const kinds = Object.values(draws)
  const times: number[] = []
  for (const end = performance.now() + ms; performance.now() < end; ) {
    const query = queryOf(kinds[times.length % kinds.length]!(random))
    const startedMs = performance.now()
    await index.keyword({ ...page, scope: scopeOf('50 %'), query })
    times.push(performance.now() - startedMs)
  }
  return times.sort((a, b) => a - b)
}

async function byCallers(index: SearchIndex): Promise<void> {
  const one = await searchFor(index, runMs, randomFrom(11))
  const four = await Promise.all([12, 13, 14, 15].map((seed) => searchFor(index, runMs, randomFrom(seed))))
  const [alone, together] = [one.length, four.flat().length].map((count) => (1000 * count) / runMs) as [number, number]
  const times = (together / alone).toFixed(2)
  console.log(`\none caller ${alone.toFixed(0)} searches a second, four ${together.toFixed(0)}: ${times} times`)
}

async function whileWriting(index: SearchIndex, chunks: number): Promise<void> {
  const before = await searchFor(index, runMs, randomFrom(21))
  const writes: number[] = []
  const source = corpus(chunks, true)
  const timer = setInterval(() => {
    const put = source.next().value
    if (put === undefined) return
    const startedMs = performance.now()
    void index.apply({ position: null, changes: [{ ...put, versionId: `${put.versionId}n` }] }).then(() => {
      writes.push(performance.now() - startedMs)
    })
  }, writeEveryMs)
  const during = await searchFor(index, 2 * runMs, randomFrom(21))
  clearInterval(timer)
  head(`${1000 / writeEveryMs} documents a second meanwhile`)
  row('searches before', before)
  row('searches meanwhile', during)
  row(
    'from written to found',
    writes.sort((a, b) => a - b),
  )
}

/** The same chunks in SQLite FTS5, in memory, joined with the filters. */
class Fts5 {
  readonly #db = new DatabaseSync(':memory:')

  constructor(chunks: number) {
    this.#db.exec('create table chunk(id integer primary key, dataset text, language text)')
    this.#db.exec('create virtual table fts using fts5(title, body)')
    const insertChunk = this.#db.prepare('insert into chunk values (?, ?, ?)')
    const insertText = this.#db.prepare('insert into fts(rowid, title, body) values (?, ?, ?)')
    this.#db.exec('begin')
    let id = 0
    for (const { columns, title, chunks: parts } of corpus(chunks, true)) {
      for (const { body } of parts) {
        insertChunk.run(++id, columns.datasetId, columns.language)
        insertText.run(id, title.terms.join(' '), body.terms.join(' '))
      }
    }
    this.#db.exec("commit; insert into fts(fts) values('optimize')")
  }

  search(words: readonly string[], share: ScopeName): unknown[] {
    const { datasets, languages } = valuesOf(share)
    const marks = (values: readonly string[]): string => values.map(() => '?').join()
    const sql = `select fts.rowid from fts join chunk on chunk.id = fts.rowid
      where fts match ? and dataset in (${marks(datasets)}) and language in (${marks(languages)})
      order by bm25(fts, 3.0, 1.0) limit 20`
    return this.#db.prepare(sql).all(words.join(' OR '), ...datasets, ...languages)
  }

  close(): void {
    this.#db.close()
  }
}
