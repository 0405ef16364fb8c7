import assert from 'node:assert/strict'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { before, suite, test } from 'node:test'
import { documentOf } from '../acceptance/content.ts'
import { fakeProfile } from '../acceptance/fake-embedding.ts'
import { freshFolder } from '../acceptance/harness.ts'
import { type SearchWorld, startWorld } from '../acceptance/search-world.ts'
import { operate, withoutTable } from '../acceptance/store-surgery.ts'
import { alertRules, assertFires, noPromtool } from '../support/alerts.ts'
import { readScrape, type Scrape } from '../support/scrape.ts'
import { until } from '../support/until.ts'

/**
 * Each alert of deploy/prometheus/alerts.yml: the test causes the problem, and the metrics of the server then make the
 * alert fire.
 */
suite('alerts', { skip: noPromtool }, () => {
  let world: SearchWorld
  let quiet: Scrape
  before(async () => {
    world = await startWorld()
    await world.putIndexed(documentOf('calm', { title: 'Calm', body: 'The sea is calm.' }))
    for (const mode of ['keyword', 'vector', 'hybrid']) await world.search({ mode, query: 'calm sea' })
    quiet = await shown(isQuiet)
  })

  /** Returns the metrics once they meet the condition. Some of them are up to two seconds old. */
  async function shown(isSo: (samples: Scrape['samples']) => boolean): Promise<Scrape> {
    let found: Scrape | null = null
    await until('the metrics show it', async () => {
      found = readScrape((await world.server.admin('GET', '/metrics')).text)
      return isSo(found.samples)
    })
    return found!
  }
  const isQuiet = (samples: Scrape['samples']): boolean =>
    ['index_pending_documents', 'vectors_waiting', 'index_oldest_pending_seconds', 'index_refilling'].every(
      (name) => samples.get(`tidemark_${name}`) === 0,
    )
  const grown = (series: string, by: number) => (samples: Scrape['samples']) =>
    (samples.get(series) ?? 0) >= (quiet.samples.get(series) ?? 0) + by
  /** Never the same query twice, because vectors of queries are cached. */
  const vectorSearch = () => world.search({ mode: 'vector', query: `words ${crypto.randomUUID()}` })
  const times = async (count: number, work: () => Promise<unknown>): Promise<void> => {
    for (let i = 0; i < count; i++) await work()
  }

  test('a defect', async () => {
    await withoutTable(world.server, 'classification', async () => {
      const path = '/v1/classifications?dataset_id=news'
      assert.equal((await world.server.consumer(world.key, 'GET', path)).status, 500)
    })
    await assertFires('TidemarkDefect', quiet, await shown(grown('tidemark_errors_total{code="internal"}', 1)))
  })

  test('a store that does not answer', async () => {
    const after = await withoutTable(world.server, 'signing_key', () =>
      shown((samples) => samples.get('tidemark_ready{check="store"}') === 0),
    )
    await assertFires('TidemarkNotReady', quiet, after)
  })

  test('errors that last', async () => {
    await times(5, async () => {
      const body = { datasets: ['news'], platforms: ['rss'], query: 'calm', resource_kind: 'content' }
      const headers = { authorization: `Bearer ${world.key}`, 'idempotency-key': crypto.randomUUID() }
      const answer = await world.server.call('POST', '/v1/live-queries', { headers, body })
      assert.equal(answer.status, 503, answer.text)
    })
    const series = 'tidemark_errors_total{code="live_query_unavailable"}'
    await assertFires('TidemarkErrors', quiet, await shown(grown(series, 5)))
  })

  test('an index that cannot be fed, and a job that fails', async () => {
    const failed = 'tidemark_background_failures_total{job="indexing"}'
    const after = await withoutTable(world.server, 'chunk', async () => {
      await world.put(documentOf('unfed', { title: 'Unfed', body: 'Nobody feeds me.' }))
      return shown((samples) => grown(failed, 1)(samples) && (samples.get('tidemark_index_pending_documents') ?? 0) > 0)
    })
    await assertFires('TidemarkIndexStandsStill', quiet, after)
    await assertFires('TidemarkBackgroundWorkFails', quiet, after)
    await world.indexed()
    quiet = await shown(isQuiet)
  })

  test('an embedding endpoint that is away', async () => {
    world.embedding.behaviour = 'errors'
    await world.put(documentOf('unvectored', { title: 'Unvectored', body: 'Only words find me.' }))
    const degraded = 'tidemark_degraded_answers_total{warning="vector_search_unavailable"}'
    await times(2, async () => {
      const found = await world.search({ mode: 'hybrid', query: `words ${crypto.randomUUID()}` })
      assert.equal(found.degraded, true)
    })
    const after = await shown(
      (samples) =>
        grown(degraded, 2)(samples) &&
        samples.get('tidemark_breaker_state{server="embedding",state="open"}') === 1 &&
        (samples.get('tidemark_vectors_waiting') ?? 0) > 0 &&
        (samples.get('tidemark_index_oldest_pending_seconds') ?? 0) > 0 &&
        samples.get('tidemark_index_pending_documents') === 0,
    )
    await assertFires('TidemarkAnswersLackSomething', quiet, after)
    await assertFires('TidemarkEndpointIsAway', quiet, after)
    await assertFires('TidemarkVectorsStandStill', quiet, after)
    await assertFires('TidemarkIndexIsBehind', quiet, after)
    world.embedding.recover()
    await world.indexed()
    await until('searches are whole again', async () => !(await vectorSearch()).degraded)
  })

  test('searches that take long', async () => {
    const before = await shown(() => true)
    world.embedding.delayMs = 2600
    await vectorSearch()
    world.embedding.delayMs = 0
    await assertFires('TidemarkSearchIsSlow', before, await shown(() => true))
  })

  test('an application that asks for more than it may', async () => {
    const policy = { daily_quotas: { search: 0 } }
    const poor = await world.server.makeApplication({ policy, entitlements: [{ datasets: ['news'] }] })
    await times(10, async () => {
      assert.equal((await world.raw({ query: 'calm' }, '/v1/search', poor.key)).status, 429)
    })
    const series = `tidemark_refusals_total{code="quota_exceeded",application="${poor.applicationId}"}`
    const after = await shown(grown(series, 10))
    const before = { ...quiet, samples: new Map(quiet.samples).set(series, 0) }
    await assertFires('TidemarkApplicationIsRefused', before, after)
  })

  test('a collector that sends what cannot be taken', async () => {
    const documents = Array.from({ length: 5 }, () => ({ title: 'of no dataset' }))
    await world.server.collector(world.collector, 'POST', '/collector/v1/documents', { documents })
    const before = await shown(() => true)
    await world.server.collector(world.collector, 'POST', '/collector/v1/documents', { documents })
    const after = await shown((samples) => {
      const series = 'tidemark_ingest_refused_total{code="invalid_document"}'
      return samples.get(series)! >= before.samples.get(series)! + 5
    })
    await assertFires('TidemarkDocumentsAreRefused', before, after)
  })

  test('analysis runs that fail', async () => {
    const policy = { analysis_enabled: true }
    const { key } = await world.server.makeApplication({ policy, entitlements: [{ datasets: ['news'] }] })
    const made = await world.server.consumer(key, 'POST', '/v1/analysis/runs', {
      analysis_type: 'clustering',
      embedding_profile_id: fakeProfile,
      input_scope: { dataset_ids: ['news'] },
    })
    assert.ok(made.status < 300, made.text)
    const after = await shown(grown('tidemark_analysis_runs_ended_total{state="failed"}', 1))
    await assertFires('TidemarkRunsFail', quiet, after)
  })

  test('a store that does not get on with its work', async () => {
    const before = await shown((samples) => samples.get('tidemark_store_writer_calls') === 0)
    const other = new DatabaseSync(join(world.server.dataDir, 'tidemark.sqlite'), { timeout: 60_000 })
    other.exec('begin immediate')
    const waiting = Array.from({ length: 30 }, (_, i) =>
      world.server.admin('PUT', `/admin/v1/datasets/waits-${i}`, { name: 'waits' }),
    )
    try {
      const after = await shown((samples) => samples.get('tidemark_store_writer_calls')! > 20)
      await assertFires('TidemarkStoreCallsQueue', before, after)
    } finally {
      other.exec('rollback')
      other.close()
      await Promise.all(waiting)
    }
  })

  test('a reader that is far behind the feed', async () => {
    const page = (query = '') => world.server.consumer(world.key, 'GET', `/v1/changes?limit=1${query}`)
    const { next_cursor } = (await page()).body
    const read = () => page(`&cursor=${encodeURIComponent(next_cursor)}`)
    const sum = 'tidemark_feed_behind_events_sum'
    const moveNewest = (by: number) =>
      operate(
        world.server,
        `update event set sequence = sequence + ${by} where sequence = (select max(sequence) from event)`,
      )
    await moveNewest(20_000)
    try {
      let before: Scrape | null = null
      // The length of the feed is cached for a moment.
      await until('a page leaves so much behind', async () => {
        const earlier = (await shown(() => true)).samples.get(sum)!
        await read()
        before = await shown(() => true)
        return before.samples.get(sum)! > earlier + 10_000
      })
      await read()
      const after = await shown((samples) => (samples.get(sum) ?? 0) > before!.samples.get(sum)! + 10_000)
      await assertFires('TidemarkFeedReadersAreBehind', before!, after)
    } finally {
      await moveNewest(-20_000)
    }
  })

  test('backups that fail, and one that is old', async () => {
    const isTold = (failed: number) => (samples: Scrape['samples']) => samples.get('tidemark_backup_failed') === failed
    const good = await world.server.tidemark(['backup', freshFolder()])
    assert.equal(good.code, 0, good.stderr)
    const before = await shown(isTold(0))
    const bad = await world.server.tidemark(['backup', join(world.server.dataDir, 'tidemark.sqlite')])
    assert.equal(bad.code, 1, bad.stdout)
    const failed = await shown(isTold(1))
    await assertFires('TidemarkBackupFails', before, failed)
    assert.ok(failed.samples.get('tidemark_backup_age_seconds')! >= before.samples.get('tidemark_backup_age_seconds')!)
    const made_at = new Date(Date.now() - 3 * 86_400_000).toISOString()
    writeFileSync(join(world.server.dataDir, 'backup.json'), JSON.stringify({ made_at, failed_at: null }))
    await assertFires('TidemarkBackupIsOld', before, await shown(isTold(0)))
  })

  test('a process that is gone', async () => {
    await world.server.stop()
    await assert.rejects(world.server.admin('GET', '/metrics'))
    const up = (value: number): Scrape => ({ types: new Map([['up', 'gauge']]), samples: new Map([['up', value]]) })
    await assertFires('TidemarkDown', up(1), up(0))
  })

  test('there is such a test of every alert', () => {
    const root = new URL('../../', import.meta.url)
    const files = globSync('test/{service,acceptance}/*.test.ts', { cwd: root })
    const texts = files.map((file) => readFileSync(new URL(file, root), 'utf8')).join('\n')
    assert.ok(alertRules.length > 10)
    for (const { alert } of alertRules) assert.ok(texts.includes(`assertFires('${alert}',`), alert)
  })
})
