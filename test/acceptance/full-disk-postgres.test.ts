import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chownSync, globSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import pg from 'pg'
import { type ThrowawayPostgres, throwawayPostgres } from '../../scripts/throwaway-postgres.ts'
import { inDatabase } from '../support/in-database.ts'
import { MemoryDisk, skippedWithoutMount } from '../support/memory-disk.ts'
import { until } from '../support/until.ts'
import { documentOf } from './content.ts'
import { expectError } from './expect-error.ts'
import { type Answer, noVectors, startServer, type TestServer } from './harness.ts'

const disk = MemoryDisk.mount(48)

/**
 * The database is in a tablespace on a small disk. The server's log is elsewhere, because the server would stop if it
 * were full. No other test uses this server: no checkpoint succeeds while a tablespace is full, and dropping a database
 * waits for a checkpoint.
 */
suite('a full disk of the database', { skip: disk === null && skippedWithoutMount }, () => {
  let postgres: ThrowawayPostgres
  let databaseUrl: string
  let server: TestServer
  let collector: string
  let key: string
  let sent = 0

  const asAdministrator = async (sql: string): Promise<void> => {
    const client = new pg.Client(postgres.url)
    await client.connect()
    await client.query(sql)
    await client.end()
  }

  before(async () => {
    const location = join(disk!.folder, 'tablespace')
    mkdirSync(location)
    // If root runs the tests, without which there is no disk, the test server runs as this user.
    const id = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
    chownSync(location, id('-u'), id('-g'))
    postgres = await throwawayPostgres({ durable: false })
    await asAdministrator(`create tablespace small location '${location}'`)
    await asAdministrator('create database tidemark tablespace small')
    databaseUrl = Object.assign(new URL(postgres.url), { pathname: '/tidemark' }).href
    server = await startServer({
      env: {
        TIDEMARK_DATABASE_URL: databaseUrl,
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
    await postgres.remove()
    disk!.remove()
  })

  /** Many different words, because PostgreSQL would compress repeated ones to almost nothing. */
  const text = (): string => Array.from({ length: 20_000 }, () => Math.random().toString(36)).join(' ')
  const put = () =>
    server.collector(collector, 'POST', '/collector/v1/documents', {
      documents: [documentOf(`d-${++sent}`, { title: 'Buoyword', body: text() })],
    })
  /** Writes when it is called, in the same place each time. */
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
    // Fills the space that the database has freed since.
    disk!.fill()
    // Writes that need no space still succeed, and do not end the state of a full disk.
    const asked = await lease()
    assert.equal(asked.status, 200, asked.text)
    const full = await ready()
    assert.equal(full.status, 503)
    assert.match(full.body.checks.disk.detail, /^the disk of the database is full: writes are refused, reads continue$/)
    // Maintenance of the catalog removes this file now and then, and the next connection has to write it again.
    for (const file of globSync('tablespace/*/*/pg_internal.init', { cwd: disk!.folder }))
      rmSync(join(disk!.folder, file))
    disk!.fill()
    await assert.rejects(inDatabase(databaseUrl, 'select'), /could not write init file/)
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
    // There is no embedding endpoint.
    assert.doesNotMatch(well.stdout, /FAIL {2}(?!the embedding endpoint)/)
    const { text } = await server.admin('GET', '/metrics')
    assert.match(text, /^tidemark_errors_total\{code="internal"\} 0$/m)
  })
})
