import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { until } from '../support/until.ts'
import { documentOf, send } from './content.ts'
import { startBeside, startServer, storeOf, type TestServer, tidemark } from './harness.ts'
import { operate } from './store-surgery.ts'

/** Processes of this version, while one of a newer version migrates their database. */
describe('an upgrade of a database that is served', () => {
  const upgraded = 'the store was upgraded by a newer version: start that version here'
  let first: TestServer
  let collector: string

  before(async () => {
    first = await startServer()
    await first.makeDataset('news')
    collector = (await first.makeCollector()).key
  })
  after(() => first.stop())

  const told = "notify tidemark_writes, 'another schema'"
  const ready = async (server: TestServer) => (await server.call('GET', '/readyz')).status === 200

  test('beside migrations that do not break it it goes on, and can also be started', async () => {
    await operate(
      first,
      `insert into schema_migration values (9998, 'later', 0); insert into harmless_migration values (9998); ${told}`,
    )
    const second = await startBeside(first)
    for (const server of [first, second]) {
      assert.equal(await ready(server), true)
      await send(server, collector, [documentOf(`beside-${server.pid}`)])
    }
    const doctor = await first.tidemark(['doctor'])
    assert.match(doctor.stdout, /note +the store was upgraded by a newer version \(schema 9998, .*can still use it/)
    assert.equal(await second.stop(), 0)
  })

  test('after one that breaks it it takes nothing more and says why; none is started any more', async () => {
    await operate(first, `insert into schema_migration values (9999, 'much later', 0); ${told}`)
    await until('it is not ready', async () => !(await ready(first)))
    const { body } = await first.call('GET', '/readyz')
    assert.deepEqual(body.checks.store, { ok: false, detail: upgraded })

    const refused = await first.collector(collector, 'POST', '/collector/v1/documents', {
      documents: [documentOf('too-late')],
    })
    assert.equal(refused.status, 503)
    assert.equal(refused.body.code, 'store_unavailable')
    assert.equal(refused.body.message, upgraded)
    assert.ok(Number(refused.headers.get('retry-after')) > 0)
    assert.equal((await first.call('GET', '/healthz')).status, 200)

    const started = await tidemark(['serve'], { env: await storeOf(first.dataDir) })
    assert.equal(started.code, 2)
    assert.match(
      started.stderr,
      /^tidemark: the data was written by a newer version of Tidemark \(schema 9999, [^\n]*\n$/,
    )
  })

  test('a database that is as it was is served again', async () => {
    await operate(first, `delete from schema_migration where number = 9999; ${told}`)
    await until('it is ready', () => ready(first))
    await send(first, collector, [documentOf('again')])
  })
})
