import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chownSync, globSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import pg from 'pg'
import { freshDatabase } from '../support/fresh-database.ts'
import { inDatabase } from '../support/in-database.ts'
import { leftOutWithoutMount, MemoryDisk } from '../support/memory-disk.ts'
import { until } from '../support/until.ts'
import { documentOf } from './content.ts'
import { expectError } from './expect-error.ts'
import { type Answer, noVectors, startServer, type TestServer } from './harness.ts'

const disk = MemoryDisk.mount(48)

/** The database is in a tablespace on a small disk; the log of the server is elsewhere, or it would end altogether. */
suite('a full disk of the database', { skip: disk === null && leftOutWithoutMount }, () => {
  const tablespace = `tidemark_test_small_${process.pid}`
  let database: { url: string; remove(): Promise<void> }
  let server: TestServer
  let collector: string
  let key: string
  let sent = 0

  const asAdministrator = async (sql: string): Promise<void> => {
    const client = new pg.Client(process.env.TEST_DATABASE_URL)
    await client.connect()
    await client.query(sql)
    await client.end()
  }

  before(async () => {
    const location = join(disk!.folder, 'tablespace')
    mkdirSync(location)
    // The test server runs as this user where the tests run as root, without which there is no disk.
    const id = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
    chownSync(location, id('-u'), id('-g'))
    await asAdministrator(`create tablespace ${tablespace} location '${location}'`)
    database = await freshDatabase(`tablespace ${tablespace}`)
    server = await startServer({
      env: {
        TIDEMARK_DATABASE_URL: database.url,
        ...noVectors,
      },
    })
    await server.makeDataset('news')
    collector = (await server.makeCollector()).key
    const policy = { daily_quotas: { search: 5 } }
    key = (await server.makeApplication({ entitlements: [{ datasets: ['news'] }], policy })).key
    assert.equal((await put()).status, 200)
    assert.equal((await lease()).status, 200)
    await until('it can be found', async () => (await search()).body.total === 1)
  })
  after(async () => {
    await server.stop()
    await database.remove()
    await asAdministrator(`drop tablespace ${tablespace}`)
    disk!.remove()
  })

  /** Of many different words: PostgreSQL would pack others into nothing. */
  const text = (): string => Array.from({ length: 20_000 }, () => Math.random().toString(36)).join(' ')
  const put = () =>
    server.collector(collector, 'POST', '/collector/v1/documents', {
      documents: [documentOf(`d-${++sent}`, { title: 'Buoyword', body: text() })],
    })
  /** Writes when it was asked, in the same place each time. */
  const lease = () => server.collector(collector, 'POST', '/collector/v1/tasks/lease', { platforms: ['forum'] })
  const search = () => server.consumer(key, 'POST', '/v1/search/keyword', { query: 'buoyword' })
  const ready = () => server.call('GET', '/readyz')

  async function refused(write: () => Promise<Answer>): Promise<Answer> {
    for (let i = 0; i < 500; i++) {
      const answer = await write()
      if (answer.status >= 300) return answer
    }
    return assert.fail('the disk never got full')
  }

  test('writes are 503 storage_full, reads go on, readiness says it; when there is room all is well again', async () => {
    disk!.fill()
    let i = 0
    const writes = [
      put,
      () => server.admin('PUT', `/admin/v1/datasets/more-${i++}`, { name: 'x', description: 'y'.repeat(2000) }),
    ]
    for (const write of writes) {
      const answer = await refused(write)
      await expectError(server, answer, 503, 'storage_full')
      assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
    }
    // Whatever the database gave back since.
    disk!.fill()
    // What takes no room is still written, and does not make the disk less full.
    const asked = await lease()
    assert.equal(asked.status, 200, asked.text)
    const full = await ready()
    assert.equal(full.status, 503)
    assert.match(full.body.checks.disk.detail, /^the disk of the database is full: writes are refused, reads go on$/)
    // With its upkeep of the catalog the database removes this file now and then; who connects next has to write it anew.
    for (const file of globSync('tablespace/*/*/pg_internal.init', { cwd: disk!.folder }))
      rmSync(join(disk!.folder, file))
    disk!.fill()
    await assert.rejects(inDatabase(database.url, 'select'), /could not write init file/)
    assert.equal((await search()).status, 200)
    assert.equal((await server.consumer(key, 'GET', '/v1/documents/browse')).status, 200)
    const limited = () => server.consumer(key, 'POST', '/v1/search', { query: 'buoyword' })
    const statuses = (await Promise.all(Array.from({ length: 8 }, limited))).map(({ status }) => status)
    assert.deepEqual(statuses.sort(), [200, 200, 200, 200, 200, 429, 429, 429])

    const doctor = await server.tidemark(['doctor'])
    assert.equal(doctor.code, 1, doctor.stdout)
    assert.match(doctor.stdout, /FAIL +the disk of the database is full\n +do: free up space/)

    disk!.makeRoom()
    assert.equal((await put()).status, 200)
    await until('it is ready', async () => (await ready()).status === 200)
    const well = await server.tidemark(['doctor'])
    assert.equal(well.code, 0, well.stdout)
    const { text } = await server.admin('GET', '/metrics')
    assert.match(text, /^tidemark_errors_total\{code="internal"\} 0$/m)
  })
})
