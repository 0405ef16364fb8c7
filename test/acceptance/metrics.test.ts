import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { before, test } from 'node:test'
import { labelsOf, readScrape, type Scrape, seriesName } from '../support/scrape.ts'
import { until } from '../support/until.ts'
import { documentOf } from './content.ts'
import { store, type TestServer } from './harness.ts'
import { type SearchWorld, startWorld } from './search-world.ts'

let world: SearchWorld
let server: TestServer

before(async () => {
  world = await startWorld()
  server = world.server
})

const scrape = async (): Promise<Scrape> => readScrape((await server.admin('GET', '/metrics')).text)

/** Reads the metrics until the condition holds. Some values are up to two seconds old. */
async function untilShown(series: string, isSo: (value: number) => boolean): Promise<void> {
  await until(`${series} is as awaited`, async () => {
    const value = (await scrape()).samples.get(series)
    return value !== undefined && isSo(value)
  })
}

interface Row {
  readonly name: string
  readonly type: string
  readonly labels: readonly string[]
  readonly needs: string
}

const rows = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8')
  .split('\n')
  .flatMap((line): Row[] => {
    const cells = line.split('|').map((cell) => cell.trim())
    const name = /^`(tidemark_\w+)`$/.exec(cells[1] ?? '')?.[1]
    if (name === undefined) return []
    const labels = cells[3]!.split(', ').filter(Boolean)
    return [{ name, type: cells[2]!, labels, needs: /^(PostgreSQL|OpenSearch|Traces): /.exec(cells[4]!)?.[1] ?? '' }]
  })

test('docs/metrics.md has every series that is shown, with its type and labels, and none else', async () => {
  await world.putIndexed(documentOf('of-the-table', { title: 'Tide table', body: 'High water at noon.' }))
  for (const mode of ['keyword', 'vector', 'hybrid']) await world.search({ mode, query: 'tide' })
  const { types, samples } = await scrape()
  const shown = [...types].filter(([name]) => name.startsWith('tidemark_'))
  const there = rows.filter(({ needs }) => needs === '' || (needs === 'PostgreSQL' && store === 'postgres'))
  assert.deepEqual(shown.sort(), there.map(({ name, type }): [string, string] => [name, type]).sort())
  const labels = new Map(rows.map((row) => [row.name, row.labels]))
  let compared = 0
  for (const sample of samples.keys()) {
    if (!sample.startsWith('tidemark_')) continue
    assert.deepEqual(labelsOf(sample).sort(), [...labels.get(seriesName(sample))!].sort(), sample)
    compared++
  }
  assert.ok(compared > rows.length)
})

test('searches are measured by mode, and by part: queue, index, store, embedding', async () => {
  const before = await scrape()
  for (const mode of ['keyword', 'vector', 'hybrid']) await world.search({ mode, query: `tide by ${mode}` })
  const { samples } = await scrape()
  const risen = (series: string) => samples.get(series)! - (before.samples.get(series) ?? 0)
  for (const mode of ['keyword', 'vector', 'hybrid']) {
    assert.equal(risen(`tidemark_search_seconds_count{mode="${mode}"}`), 1, mode)
    const whole = risen(`tidemark_search_seconds_sum{mode="${mode}"}`)
    for (const part of ['queue', 'index', 'store', ...(mode === 'keyword' ? [] : ['embedding'])]) {
      const of = `mode="${mode}",part="${part}"`
      assert.equal(risen(`tidemark_search_part_seconds_count{${of}}`), 1, of)
      const spent = risen(`tidemark_search_part_seconds_sum{${of}}`)
      assert.ok(spent >= 0 && spent <= whole, `${of}: ${spent} of ${whole}`)
    }
  }
})

test('what came in, what was refused, what the index has and who reads the feed', async () => {
  const before = (await scrape()).samples
  await world.putIndexed(documentOf('a', { title: 'Ebb', body: 'Low water.' }), documentOf('b', { body: 'Slack.' }))
  await world.put(documentOf('a', { title: 'Ebb', body: 'Low water.' }))
  await server.collector(world.collector, 'POST', '/collector/v1/documents', { documents: [{ title: 'no dataset' }] })
  await server.consumer(world.key, 'GET', '/v1/changes?limit=1')
  const { samples } = await scrape()
  const risen = (series: string) => samples.get(series)! - before.get(series)!
  assert.equal(risen('tidemark_ingest_documents_total{outcome="created"}'), 2)
  assert.equal(risen('tidemark_ingest_documents_total{outcome="unchanged"}'), 1)
  assert.equal(risen('tidemark_ingest_refused_total{code="invalid_document"}'), 1)
  assert.equal(samples.get('tidemark_feed_readers'), 1)
  assert.equal(risen('tidemark_feed_behind_events_count'), 1)
  await untilShown('tidemark_index_documents', (value) => value === 3)
  await untilShown('tidemark_vectors_waiting', (value) => value === 0)
  await untilShown('tidemark_index_pending_documents', (value) => value === 0)
  await untilShown('tidemark_index_fed_documents_total', (value) => value >= 3)
  await untilShown('tidemark_vectors_made_total{profile="fake-bag-of-words"}', (value) => value >= 3)
  await untilShown('tidemark_office_held{office="vectors"}', (value) => value === 1)
  await untilShown('tidemark_ready{check="store"}', (value) => value === 1)
})

test('who is refused for asking too often or too much is named', async () => {
  const policy = { requests_per_second: 1, burst: 1 }
  const slow = await server.makeApplication({ policy, entitlements: [{ datasets: ['news'] }] })
  const poor = await server.makeApplication({
    policy: { daily_quotas: { search: 0 } },
    entitlements: [{ datasets: ['news'] }],
  })
  const answers = [
    await server.consumer(slow.key, 'GET', '/v1/account'),
    await server.consumer(slow.key, 'GET', '/v1/account'),
    await server.consumer(poor.key, 'POST', '/v1/search', { query: 'tide' }),
  ]
  const { samples } = await scrape()
  assert.equal(answers[2]!.status, 429, answers[2]!.text)
  const of = (code: string, id: string) => samples.get(`tidemark_refusals_total{code="${code}",application="${id}"}`)
  assert.equal(of('quota_exceeded', poor.applicationId), 1)
  const refused = answers.slice(0, 2).filter(({ status }) => status === 429).length
  assert.equal(of('rate_limit_exceeded', slow.applicationId) ?? 0, refused)
})
