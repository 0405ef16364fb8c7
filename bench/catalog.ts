/**
 * The time of a listing over HTTP, by filter and by size of the store, first page and page 200 (or the last full
 * one, where there are fewer), at limits 50 and 200, in a window of 31 days. "found" is how many documents are on the page, by size: where
 * it differs, so does the time. All sizes are measured in turn, request by request, so that
 * whatever else the machine does falls on all of them alike; the last columns are the largest store over the smallest.
 *
 *   npm run bench -- catalog [10000,100000,1000000] [--requests 100] [--keep FOLDER]
 *
 * `--keep` leaves the stores in a folder and takes them from there the next time.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { freshFolder, startServer, type TestServer } from '../test/acceptance/harness.ts'
import { datasets, makeStore, rareTags, rareTopics } from './catalog/make-store.ts'

const dayMs = 86_400_000
const pageWanted = 200
/** A line of the table takes no longer than this, but for its first ten requests. */
const measureMsMax = 15_000

interface Store {
  readonly size: number
  readonly server: TestServer
  /** Reads everything, and reads only what is in a rare language. */
  readonly keys: { readonly whole: string; readonly rareLanguage: string }
  readonly endMs: number
}

interface Case {
  readonly name: string
  readonly key?: 'rareLanguage'
  /** The parameters of the i-th request: where one value stands for many, they take turns. */
  readonly parameters: (i: number, endMs: number) => Record<string, string>
}

const iso = (ms: number): string => new Date(ms).toISOString()

const cases: readonly Case[] = [
  { name: 'none', parameters: () => ({}) },
  { name: 'platform', parameters: () => ({ source_platforms: 'platform-1' }) },
  { name: 'rare tag', parameters: (i) => ({ tags: `rare-${i % rareTags}` }) },
  { name: 'common tag', parameters: () => ({ tags: 'half' }) },
  { name: 'common tag, rare topic', parameters: (i) => ({ tags: 'half', topics: `scarce-${i % rareTopics}` }) },
  { name: 'author', parameters: () => ({ source_platforms: 'platform-0', external_author_id: 'author-9' }) },
  {
    name: 'classification, score range',
    parameters: () => ({ classification_codes: 'class-2', score_min: '100', score_max: '400' }),
  },
  {
    name: 'type, published week, status',
    parameters: (_, endMs) => ({
      content_types: 'video',
      published_from: iso(endMs - 17 * dayMs),
      published_to: iso(endMs - 10 * dayMs),
      status: 'active',
    }),
  },
  { name: 'nasty: common tag and topic never meet', parameters: () => ({ tags: 'half', topics: 'other-half' }) },
  { name: 'nasty: entitled to a rare language', key: 'rareLanguage', parameters: () => ({}) },
]

export async function run(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { requests: { type: 'string', default: '100' }, keep: { type: 'string' } },
  })
  const sizes = (positionals[0] ?? '10000,100000,1000000').split(',').map(Number)
  const stores: Store[] = []
  for (const size of sizes) stores.push(await openStore(size, values.keep))
  for (const limit of [50, 200]) await measure(stores, limit, Number(values.requests))
  for (const { server } of stores) await server.stop()
}

async function openStore(size: number, keep: string | undefined): Promise<Store> {
  const dataDir = keep === undefined ? freshFolder() : join(keep, String(size))
  const mark = join(dataDir, 'made')
  if (!existsSync(mark)) {
    const startedMs = performance.now()
    const endMs = Date.now()
    await makeStore(dataDir, size, endMs)
    writeFileSync(mark, String(endMs))
    console.log(`${size} documents written in ${((performance.now() - startedMs) / 1000).toFixed(0)} s`)
  }
  const server = await startServer({
    dataDir,
    env: { TIDEMARK_LOG_LEVEL: 'error', TIDEMARK_CATALOG_TIMEOUT_MS: '60000' },
  })
  const whole = await server.makeApplication({ entitlements: [{ datasets }] })
  const rareLanguage = await server.makeApplication({ entitlements: [{ datasets, languages: ['is'] }] })
  const keys = { whole: whole.key, rareLanguage: rareLanguage.key }
  return { size, server, keys, endMs: Number(readFileSync(mark, 'utf8')) }
}

interface Asked {
  readonly store: Store
  readonly key: string
  readonly paths: readonly string[]
  /** Documents on the page, and which page it is. */
  readonly found: number
  readonly page: number
}

async function measure(stores: readonly Store[], limit: number, requests: number): Promise<void> {
  const size = (one: Store) => `${one.size.toLocaleString('en')} p50`.padStart(14) + 'p95'.padStart(8)
  console.log(`\nlimit ${limit}, milliseconds`)
  console.log(
    `${'filter'.padEnd(40)}${'page'.padEnd(12)}${'found'.padEnd(12)}${stores.map(size).join('')}${'ratio p50'.padStart(12)}${'p95'.padStart(8)}`,
  )
  for (const one of cases) {
    const first: Asked[] = []
    const deep: Asked[] = []
    for (const store of stores) {
      const pages = await deepPage(firstPages(store, one, limit), limit)
      first.push(pages.first)
      deep.push(pages.deep)
    }
    for (const asked of [first, deep]) {
      const times = await rounds(asked, requests)
      const row = times.map((sorted) => [percentile(sorted, 0.5), percentile(sorted, 0.95)] as const)
      const [small, large] = [row[0]!, row.at(-1)!]
      const cells = row.map(([p50, p95]) => p50.toFixed(2).padStart(14) + p95.toFixed(2).padStart(8)).join('')
      const ratio = (large[0] / small[0]).toFixed(2).padStart(12) + (large[1] / small[1]).toFixed(2).padStart(8)
      const each = (pick: (one: Asked) => number) => [...new Set(asked.map(pick))].join('/').padEnd(12)
      console.log(`${one.name.padEnd(40)}${each(({ page }) => page)}${each(({ found }) => found)}${cells}${ratio}`)
    }
  }
}

function firstPages(store: Store, one: Case, limit: number): Asked {
  const paths = Array.from({ length: 50 }, (_, i) => {
    const window = { created_from: iso(store.endMs - 31 * dayMs), created_to: iso(store.endMs) }
    const parameters = { ...one.parameters(i, store.endMs), ...window, limit: String(limit) }
    return `/v1/documents/browse?${new URLSearchParams(parameters)}`
  })
  return { store, key: store.keys[one.key ?? 'whole'], paths, found: 0, page: 1 }
}

/** Pages on from the first of the paths. */
async function deepPage(asked: Asked, limit: number): Promise<{ first: Asked; deep: Asked }> {
  const { store, key, paths } = asked
  let path = paths[0]!
  let first = asked
  let deep = asked
  for (let page = 1; ; page++) {
    const { status, body, text } = await store.server.consumer(key, 'GET', path)
    if (status !== 200) throw new Error(`${path} answered ${status}: ${text}`)
    const found: number = body.documents.length
    if (page === 1) first = { ...asked, found }
    if (page === 1 || found === limit) deep = { ...asked, paths: [path], found, page }
    if (page === pageWanted || body.next_cursor === undefined) return { first, deep }
    path = `${paths[0]}&cursor=${encodeURIComponent(body.next_cursor)}`
  }
}

/** Sorted times of each store. */
async function rounds(asked: readonly Asked[], requests: number): Promise<number[][]> {
  const times: number[][] = asked.map(() => [])
  const warmUp = Math.ceil(requests / 5)
  const startedMs = performance.now()
  for (let i = -warmUp; i < requests; i++) {
    // What takes seconds shows itself in fewer requests.
    if (i >= 10 && performance.now() - startedMs > measureMsMax) break
    for (const [place, { store, key, paths }] of asked.entries()) {
      const path = paths[(i + warmUp) % paths.length]!
      const fromMs = performance.now()
      const response = await fetch(new URL(path, store.server.address), { headers: { authorization: `Bearer ${key}` } })
      await response.arrayBuffer()
      if (i >= 0) times[place]!.push(performance.now() - fromMs)
      if (response.status !== 200) throw new Error(`${path} answered ${response.status}`)
    }
  }
  return times.map((one) => one.sort((a, b) => a - b))
}

const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
