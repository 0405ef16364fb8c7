import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { after, before, suite, test } from 'node:test'
import { until } from '../support/until.ts'
import { documentOf, send } from './content.ts'
import { startServer, type TestServer } from './harness.ts'
import { stuckVersion, versionByRules } from './other-version.ts'

/**
 * The old process must stop before the new one starts. Until the new index is complete, a return to the old version is
 * possible.
 */
suite('an upgrade to another index version of a process that is alone', () => {
  const older = versionByRules('older')
  const documents = 300
  let server: TestServer
  let key: string
  before(async () => {
    server = await startServer({ main: older })
    await server.makeDataset('news')
    key = (await server.makeApplication({ entitlements: [{ datasets: ['news'] }] })).key
    const collector = (await server.makeCollector()).key
    const all = Array.from({ length: documents }, (_, i) => documentOf(`d${i}`, { body: `The tide of ${i}.` }))
    for (let i = 0; i < documents; i += 100) await send(server, collector, all.slice(i, i + 100))
    await until('all is found', async () => (await found()).total === documents)
  })
  after(() => server.stop())

  const ready = async () => (await server.call('GET', '/readyz')).status === 200
  const found = async (mode = 'keyword') => {
    const { status, body, text } = await server.consumer(key, 'POST', '/v1/search', { query: 'tide', mode })
    assert.equal(status, 200, text)
    const codes = body.warnings.map(({ code }: { code: string }) => code)
    return { total: body.total_chunks as number, degraded: body.degraded as boolean, codes }
  }
  async function startVersion(main: string): Promise<void> {
    await server.stop()
    server = await startServer({ main, dataDir: server.dataDir, env: { TIDEMARK_LOG_LEVEL: 'info' } })
  }
  const indexes = () => readdirSync(server.dataDir).filter((name) => /^search-\d+\.sqlite$/.test(name)).length

  test('while its index is not whole it is not ready, and each answer says that it is incomplete', async () => {
    await startVersion(stuckVersion('stuck'))
    assert.equal(await ready(), false)
    for (const mode of ['keyword', 'vector', 'hybrid']) {
      const { degraded, codes } = await found(mode)
      assert.ok(degraded && codes.includes('search_index_rebuilding'), codes.join())
    }
    assert.equal((await server.consumer(key, 'GET', '/v1/values/dataset')).status, 503)
    assert.equal(await ready(), false)
    assert.equal(indexes(), 2)
  })

  test('until then the old version can be started again, and lacks nothing', async () => {
    await startVersion(older)
    assert.ok(await ready())
    assert.deepEqual(await found(), { total: documents, degraded: false, codes: [] })
    assert.doesNotMatch(server.stderr, /catching up/)
  })

  test('it is ready when its index is whole, and the old one is removed', async () => {
    await startVersion(versionByRules('newer'))
    await until('it is ready', ready)
    assert.deepEqual(await found(), { total: documents, degraded: false, codes: [] })
    await until('the old index is removed', () => indexes() === 1)
    await server.restart()
    assert.ok(await ready())
    assert.deepEqual(await found(), { total: documents, degraded: false, codes: [] })
    assert.doesNotMatch(server.stderr, /catching up/)
  })
})
