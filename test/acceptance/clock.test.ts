import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { assertFires, noPromtool } from '../support/alerts.ts'
import { readScrape, type Scrape } from '../support/scrape.ts'
import { until } from '../support/until.ts'
import { type AnalysisWorld, startAnalysisWorld } from './analysis-world.ts'
import { documentOf, send, wholeFeed } from './content.ts'
import { daysLater } from './harness.ts'

/** Removal by age depends on the clock, and cannot be undone if the clock was wrong. */
suite('a clock that jumps', () => {
  let world: AnalysisWorld
  let runId: string
  let documentIds: string[]

  before(async () => {
    world = await startAnalysisWorld()
    const { server } = world
    await server.mustAdmin('PUT', '/admin/v1/datasets/news', { name: 'News', retain_days: 365 })
    const documents = Array.from({ length: 10 }, (_, i) => documentOf(`a-${i}`, { body: `tide ${i} harbour` }))
    await world.put(...documents)
    runId = (await world.succeeded({})).run_id
    const { events } = await wholeFeed(server, world.key)
    documentIds = events.map((event) => event.document_id)
    assert.equal(documentIds.length, 10)
  })

  const detail = async (): Promise<string> => (await world.server.call('GET', '/readyz')).body.checks.store.detail
  const shown = async (): Promise<Scrape> => readScrape((await world.server.admin('GET', '/metrics')).text)
  const trusted = async (): Promise<number> => (await shown()).samples.get('tidemark_clock_trusted')!
  const missing = async (): Promise<number> => {
    const { key, server } = world
    const { body } = await server.consumer(key, 'POST', '/v1/documents/batch-get', { document_ids: documentIds })
    return body.missing.length
  }
  const artifacts = () => world.server.consumer(world.key, 'GET', `/v1/analysis/runs/${runId}/artifacts`)

  test('far ahead, nothing is removed, and operators hear why; when it comes back, all is as it was', async () => {
    const { server, key } = world
    await until('the jobs have looked', async () => (await trusted()) === 1)
    const before = await shown()
    await server.restart(daysLater(400))
    await until('the jobs have looked', async () => /400 days ahead/.test(await detail()))
    assert.match(await detail(), /nothing is removed until it is corrected, or confirmed with tidemark clock confirm/)
    assert.equal(await trusted(), 0)
    if (noPromtool === false) await assertFires('TidemarkClockIsAhead', before, await shown())
    assert.equal(server.logs.filter(({ msg }) => /the clock is far ahead/.test(String(msg))).length, 1)
    const { code, stdout } = await server.tidemark(['doctor'])
    assert.deepEqual([code, /FAIL {2}the clock .* 400 days ahead/.test(stdout)], [1, true], stdout)
    assert.equal(await missing(), 0)

    await server.restart(daysLater(0))
    await until('the jobs have looked', async () => (await trusted()) === 1)
    assert.doesNotMatch(await detail(), /clock/)
    assert.equal(await missing(), 0)
    assert.equal((await wholeFeed(server, key)).events.length, 10)
    const { status, body } = await artifacts()
    assert.deepEqual([status, body.artifacts.length], [200, 1])
    const file = `/v1/analysis/runs/${runId}/artifacts/${body.artifacts[0].artifact_id}/file`
    assert.equal((await server.consumer(key, 'GET', file)).status, 200)
  })

  test('two days ahead is believed', async () => {
    await world.server.restart(daysLater(2))
    await until('the jobs have looked', async () => (await trusted()) === 1)
    assert.doesNotMatch(await detail(), /clock/)
    // Counted from the last trusted time, which was two days ago.
    await world.server.restart(daysLater(4))
    await until('the jobs have looked', async () => (await trusted()) === 1)
    assert.equal(await missing(), 0)
  })

  test('once it is confirmed, a server that runs removes what is too old', async () => {
    const { server, key } = world
    await server.restart(daysLater(400))
    await until('the jobs have looked', async () => (await trusted()) === 0)
    const before = await server.tidemark(['clock', 'show'])
    assert.match(before.stdout, /the clock of this machine: \d{4}-.*\ntrusted up to: \d{4}-/)
    const { code, stdout, stderr } = await server.tidemark(['clock', 'confirm'])
    assert.equal(code, 0, stderr)
    assert.match(stdout, /^confirmed: it is \d{4}-/)
    await until('all documents are erased', async () => (await missing()) === 10)
    await until('old events are removed', async () =>
      (await wholeFeed(server, key)).events.every(({ event_type }) => event_type !== 'document.created'),
    )
    assert.equal(await trusted(), 1)
    assert.doesNotMatch(await detail(), /clock/)
    const { audit } = (await server.mustAdmin('GET', '/admin/v1/audit')) as { audit: { action: string }[] }
    assert.ok(audit.some(({ action }) => action === 'clock.confirm'))

    // The confirmed clock was wrong after all. After its correction it is far behind the confirmed time, and is
    // confirmed again.
    await server.restart(daysLater(0))
    await until('the jobs have looked', async () => /39\d days behind/.test(await detail()))
    assert.equal((await server.tidemark(['clock', 'confirm'])).code, 0)
    await until('it is believed', async () => !/clock/.test(await detail()))
    assert.equal((await artifacts()).status, 404)
  })

  test('what came in while the clock was far behind is not removed when it is set right, until that is confirmed', async () => {
    const { server } = world
    await server.restart(daysLater(-400))
    await until('the jobs have looked', async () => /39\d days behind|400 days behind/.test(await detail()))
    const { key: collector } = await server.makeCollector()
    const [document] = await send(server, collector, [documentOf('of-the-past', { body: 'a tide of the past' })])
    const isThere = async (): Promise<boolean> => {
      const ids = { document_ids: [document!.document_id] }
      return (await server.consumer(world.key, 'POST', '/v1/documents/batch-get', ids)).body.missing.length === 0
    }
    await server.restart(daysLater(0))
    await until('the jobs have looked', async () => (await trusted()) === 0)
    assert.match(await detail(), /\d+ days ahead/)
    assert.ok(await isThere())
    assert.equal((await server.tidemark(['clock', 'confirm'])).code, 0)
    await until('it is too old by then', async () => !(await isThere()))
  })
})
