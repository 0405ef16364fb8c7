/**
 * Typing errors and beginnings of words over many terms: what `typo` and `prefix` ask of the embedded index.
 *
 *   npm run bench -- words [--chunks 1000000] [--terms 2000000] [--at FILE] [--only 'one error']
 *
 * `--at` keeps the index in that file, and uses what is there. `--only` takes rows that begin so; `statistics` is what the
 * counts of a scope's own datasets cost.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Scope } from '../src/access/scope.ts'
import { correctQuery, type TypoMode } from '../src/search/correct-query.ts'
import { noFilters, type SearchIndex } from '../src/search/search-index.ts'
import { openSegmentsIndex } from '../src/storage/segments/segments-index.ts'
import { parseQuery } from '../src/text/parse-query.ts'
import { type Random, randomFrom } from './index/corpus.ts'
import { commonWord, wordOf } from './words/corpus.ts'

const queriesPerRow = 200
const timeoutMs = 60_000

export async function run(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      chunks: { type: 'string', default: '1000000' },
      terms: { type: 'string', default: '2000000' },
      at: { type: 'string' },
      only: { type: 'string', default: '' },
    },
  })
  const folder = mkdtempSync(join(tmpdir(), 'bench-words-'))
  const path = values.at ?? join(folder, 'index.db')
  try {
    if (!existsSync(path)) await fill(path, values.chunks, values.terms)
    const index = await openSegmentsIndex({ path })
    const { chunks, terms, memoryBytes } = await index.health()
    console.log(`${chunks} chunks, ${terms} terms, ${(memoryBytes / chunks).toFixed(0)} bytes a chunk`)
    for (const datasets of [20, 1]) await measure(index, datasets, values.only)
    if ('statistics'.startsWith(values.only)) await measureStatistics(index)
    await index.close()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function fill(path: string, ...sizes: readonly string[]): Promise<void> {
  const file = fileURLToPath(new URL('./words/fill.ts', import.meta.url))
  const child = spawn(process.execPath, [file, path, ...sizes], { stdio: 'inherit' })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`filling ended with ${code}`)
}

const longWord = (random: Random, least: number): string => {
  for (;;) {
    const word = commonWord(random)
    if (word.length >= least) return word
  }
}

/** One that a query finds as it is: the stems of this corpus are not those that a query asks for. */
const foundWord = (random: Random, least: number): string => {
  for (;;) {
    const word = longWord(random, least)
    const [clause] = parseQuery(word, ['en'], { lastIsBeginning: false }).clauses
    if (word.length % 2 === 0 && clause?.type === 'word' && clause.group.includes(word)) return word
  }
}

/** Two neighbours changed about, somewhere. */
function mistyped(word: string, random: Random): string {
  const at = Math.floor(random() * (word.length - 1))
  return `${word.slice(0, at)}${word[at + 1]}${word[at]}${word.slice(at + 2)}`
}

interface Kind {
  readonly text: (random: Random) => string
  readonly typo: TypoMode
  readonly prefix: boolean
}

const kinds: Readonly<Record<string, Kind>> = {
  'a word as it is': { text: (random) => longWord(random, 4), typo: 'off', prefix: false },
  'three words as they are': {
    text: (random) => `${longWord(random, 4)} ${longWord(random, 8)} ${longWord(random, 4)}`,
    typo: 'off',
    prefix: false,
  },
  'one error, auto': { text: (random) => mistyped(longWord(random, 8), random), typo: 'auto', prefix: false },
  'short word, auto': {
    text: (random) => mistyped(longWord(random, 4).slice(0, 7), random),
    typo: 'auto',
    prefix: false,
  },
  'a rare word, auto': {
    text: (random) => mistyped(wordOf(20_000 + Math.floor(random() * 1_000_000)), random),
    typo: 'auto',
    prefix: false,
  },
  'three words, one wrong': {
    text: (random) => `${foundWord(random, 4)} ${mistyped(longWord(random, 8), random)} ${foundWord(random, 4)}`,
    typo: 'auto',
    prefix: false,
  },
  'a word, always': { text: (random) => longWord(random, 8), typo: 'always', prefix: false },
  'beginning of 1': { text: (random) => longWord(random, 4).slice(0, 1), typo: 'off', prefix: true },
  'beginning of 2': { text: (random) => longWord(random, 4).slice(0, 2), typo: 'off', prefix: true },
  'beginning of 3': { text: (random) => longWord(random, 4).slice(0, 3), typo: 'off', prefix: true },
  'beginning of 5': { text: (random) => longWord(random, 6).slice(0, 5), typo: 'off', prefix: true },
  'a word as it is typed': {
    text: (random) => longWord(random, 4).slice(0, 1 + Math.floor(random() * 8)),
    typo: 'off',
    prefix: true,
  },
  'beginning of 7, auto': { text: (random) => longWord(random, 8).slice(0, 7), typo: 'auto', prefix: true },
  'wrong beginning, auto': {
    text: (random) => mistyped(longWord(random, 8).slice(0, 7), random),
    typo: 'auto',
    prefix: true,
  },
}

const scopeOf = (datasets: number): Scope => ({
  entries: [
    {
      datasets: Array.from({ length: datasets }, (_, i) => `d${i}`),
      platforms: null,
      languages: null,
      regions: null,
      publishedFrom: null,
      publishedTo: null,
      fields: ['title', 'body'],
    },
  ],
})

async function measure(index: SearchIndex, datasets: number, only: string): Promise<void> {
  const scope = scopeOf(datasets)
  const within = { scope, filters: noFilters, timeoutMs }
  console.log(`\n${datasets} of 20 datasets, one caller, load of the machine ${loadavg()[0]!.toFixed(1)}`)
  console.log('ms                            p50       p99  p50 CPU   matches')
  for (const [name, { text, typo, prefix }] of Object.entries(kinds)) {
    if (!name.startsWith(only)) continue
    const random = randomFrom(7)
    const times: number[] = []
    const cpu: number[] = []
    let matches = 0
    for (let i = 0; i < queriesPerRow + 20; i++) {
      const typed = text(random)
      const used = process.cpuUsage()
      const start = performance.now()
      const parsed = parseQuery(typed, ['en'], { lastIsBeginning: prefix })
      const corrected =
        typo === 'off'
          ? { outcome: 'corrected' as const, query: parsed }
          : await correctQuery(index, parsed, { text: typed, typo, ...within })
      if (corrected.outcome !== 'corrected') throw new Error(corrected.outcome)
      const page = await index.keyword({ query: corrected.query, ...within, limit: 20, after: null, otherChunksMax: 0 })
      if (i >= 20) {
        times.push(performance.now() - start)
        const { user, system } = process.cpuUsage(used)
        cpu.push((user + system) / 1000)
      }
      if (page.outcome === 'found') matches += page.totalChunks
    }
    const at = (sorted: readonly number[], share: number) =>
      sorted[Math.floor(sorted.length * share)]!.toFixed(2).padStart(9)
    for (const list of [times, cpu]) list.sort((a, b) => a - b)
    const found = String(Math.round(matches / (queriesPerRow + 20))).padStart(9)
    console.log(`${name.padEnd(24)} ${at(times, 0.5)} ${at(times, 0.99)} ${at(cpu, 0.5)} ${found}`)
  }
}

/**
 * The same search with the statistics of the 5 datasets that its scope opens, counted for it, and with statistics that it
 * is given, which cost less than any that could be had of the whole index. All of it was in memory before, for another scope.
 */
async function measureStatistics(index: SearchIndex): Promise<void> {
  const random = randomFrom(7)
  const own: number[] = []
  const given: number[] = []
  const ask = async (text: string, datasets: number, statistics?: readonly number[]) => {
    const query = parseQuery(text, ['en'], { lastIsBeginning: false })
    const within = {
      scope: scopeOf(datasets),
      filters: noFilters,
      timeoutMs,
      limit: 20,
      after: null,
      otherChunksMax: 0,
    }
    const start = performance.now()
    const page = await index.keyword({ query, ...within, ...(statistics && { statistics }) })
    if (page.outcome !== 'found') throw new Error(page.outcome)
    return { ms: performance.now() - start, statistics: page.statistics }
  }
  for (let i = 0; i < 2 * queriesPerRow + 20; i++) {
    const text = `${foundWord(random, 4)} ${foundWord(random, 6)} ${foundWord(random, 4)}`
    await ask(text, 20)
    const counted = await ask(text, 5)
    const told = await ask(text, 5, counted.statistics)
    if (i < 20 || counted.statistics === undefined) continue
    own.push(counted.ms)
    given.push(told.ms)
  }
  const [a, b] = [own, given].map((times) => times.sort((x, y) => x - y)[times.length >> 1]!) as [number, number]
  console.log(
    `\nstatistics of 5 of 20 datasets, ${own.length} searches for three words, load ${loadavg()[0]!.toFixed(1)}`,
  )
  console.log(
    `p50 ms: counted for the scope ${a.toFixed(2)}, given ${b.toFixed(2)}, ratio ${(a / b).toFixed(2)} (aim 1.15)`,
  )
}
