import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { findPostgres } from '../../scripts/throwaway-postgres.ts'
import { freshDatabase } from '../support/fresh-database.ts'
import { inDatabase } from '../support/in-database.ts'
import { until } from '../support/until.ts'
import { freshFolder, startServer, type TestServer, tidemark } from './harness.ts'

suite('doctor on PostgreSQL', () => {
  let url: string
  let server: TestServer

  before(async () => {
    url = (await freshDatabase()).url
    server = await startServer({ env: { TIDEMARK_DATABASE_URL: url } })
    await server.makeDataset('news')
  })

  /** The findings of doctor, as [mark, about, advice]. */
  async function examined(of = url, env: Record<string, string> = {}): Promise<[string, string, string | undefined][]> {
    const { code, stdout, stderr } = await tidemark(['doctor'], { env: { TIDEMARK_DATABASE_URL: of, ...env } })
    assert.equal(stderr, '')
    const found = [...stdout.matchAll(/^ {2}(ok|note|FAIL) +(.*)(?:\n {9}do: (.*))?$/gm)]
    assert.equal(code, found.some(([, mark]) => mark === 'FAIL') ? 1 : 0)
    return found.map(([, mark, about, advice]) => [mark!, about!, advice])
  }

  async function expected(lines: readonly (readonly [string, RegExp, RegExp?])[], of = url, env = {}): Promise<void> {
    const found = await examined(of, env)
    for (const [mark, about, advice = /^undefined$/] of lines) {
      const line = found.find((one) => about.test(one[1]))
      assert.ok(line !== undefined, `${about} is not among\n${found.map((one) => one.join(' | ')).join('\n')}`)
      assert.equal(line[0], mark, line[1])
      assert.match(String(line[2]), advice)
    }
  }

  test('a database that is as it should be', async () => {
    await expected([
      ['ok', /^PostgreSQL \d+/],
      ['ok', /^encoding UTF8$/],
      ['ok', /^a process opens up to 12 connections; the server has \d+ for its clients, \d+ of them in use$/],
      ['ok', /^\d\d tables with \d\d indexes besides their keys, as this version creates them$/],
      ['ok', /^autovacuum is on$/],
      ['ok', /^datasets: 1$/],
    ])
    assert.ok((await examined()).every(([mark]) => mark !== 'FAIL'))
    const [{ fsync }] = await inDatabase(url, 'show fsync')
    const durable = fsync === 'on'
    await expected([
      durable
        ? ['ok', /^fsync and full_page_writes are on/]
        : [
            'note',
            /^fsync and full_page_writes off: a power failure can destroy/,
            /^set fsync = on and full_page_writes = on/,
          ],
    ])
  })

  test('what is missing, not valid or made otherwise is named, with the statement that mends it', async () => {
    await inDatabase(
      url,
      'drop index document_by_url',
      'drop index document_by_identity',
      "update pg_index set indisvalid = false where indexrelid = 'event_pkey'::regclass",
      "update pg_index set indisvalid = false where indexrelid = 'document_by_dataset'::regclass",
      'alter table dataset alter name type text collate "POSIX", alter description type text collate "POSIX"',
      'alter table snapshot set (autovacuum_enabled = false)',
      'alter table live_item rename to live_item_elsewhere',
    )
    await expected([
      ['FAIL', /^index document_by_url is missing/, /^create index concurrently "document_by_url" on "document" \(/],
      ['FAIL', /^index document_by_identity is missing/, /^create unique index concurrently "document_by_identity"/],
      ['FAIL', /^index document_by_dataset is not valid/, /^reindex index concurrently document_by_dataset$/],
      ['FAIL', /^table event has no valid primary key$/, /restore a backup/],
      ['FAIL', /^table live_item is missing$/, /restore a backup/],
      [
        'FAIL',
        /^texts of table dataset \(name, description\) are not compared by their bytes/,
        /alter name type text collate "C"/,
      ],
      ['note', /^table snapshot is exempt from autovacuum$/, /^alter table snapshot reset/],
    ])
    await inDatabase(
      url,
      'alter table live_item_elsewhere rename to live_item',
      "update pg_index set indisvalid = true where indexrelid = 'event_pkey'::regclass",
    )
    const advised = (await examined()).flatMap(([mark, about, advice]) =>
      mark === 'FAIL' || about.startsWith('table snapshot') ? [advice!] : [],
    )
    for (const statement of advised.flatMap((advice) => advice.split('; '))) await inDatabase(url, statement)
    await expected([['ok', /tables with \d\d indexes besides their keys/]])
    assert.ok((await examined()).every(([mark, about]) => mark !== 'FAIL' && !about.startsWith('table ')))
  })

  test('connections that the server does not have', async () => {
    await expected([['FAIL', /^a process opens up to 1002 connections/, /TIDEMARK_DATABASE_CONNECTIONS_MAX/]], url, {
      TIDEMARK_DATABASE_CONNECTIONS_MAX: '1000',
    })
  })

  test('a standby that follows, and a slot that nobody reads from', async () => {
    const slot = `slot_${process.pid}`
    await inDatabase(url, `select pg_create_physical_replication_slot('${slot}', true)`)
    await expected([
      ['note', new RegExp(`^nobody reads from the replication slot "${slot}"`), /pg_drop_replication_slot/],
    ])
    const follower = spawn(
      join(findPostgres()!, 'pg_receivewal'),
      ['-d', url, '-D', freshFolder(), '-S', slot, '-s', '1'],
      {
        env: { ...process.env, PGAPPNAME: slot },
        stdio: 'ignore',
      },
    )
    try {
      const caughtUp = `select from pg_stat_replication where application_name = '${slot}' and state = 'streaming'
        and pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn) < 16 * 1024 * 1024`
      await until('it has caught up', async () => (await inDatabase(url, caughtUp)).length === 1)
      await expected([['ok', new RegExp(`^standby "${slot}" \\(streaming\\) is \\d+ MiB and \\d+ s behind$`)]])
    } finally {
      const ended = new Promise((resolve) => follower.once('exit', resolve))
      follower.kill('SIGTERM')
      await ended
      const isFree = `select from pg_replication_slots where slot_name = '${slot}' and not active`
      await until('the server has seen that it is gone', async () => (await inDatabase(url, isFree)).length === 1)
      await inDatabase(url, `select pg_drop_replication_slot('${slot}')`)
    }
  })

  test('it only looks: nothing is made in an empty database, nothing brought up to date', async () => {
    const { url: empty } = await freshDatabase()
    await expected([['note', /^no store yet$/, /tidemark serve or tidemark migrate creates it/]], empty)
    assert.deepEqual(await inDatabase(empty, "select from pg_class where relnamespace = 'public'::regnamespace"), [])
  })

  test('a database of an older version is left so, one of a newer version or that is not there is named', async () => {
    const { url: other } = await freshDatabase()
    const env = { TIDEMARK_DATABASE_URL: other }
    assert.equal((await tidemark(['migrate'], { env })).code, 0)
    const newest = 'select max(number) from schema_migration'
    const [{ max }] = await inDatabase(other, `delete from schema_migration where number = (${newest})`, newest)
    await expected([['note', /^the store is of an older version \(schema \d+, /, /tidemark migrate/]], other)
    assert.deepEqual(await inDatabase(other, newest), [{ max }])
    await inDatabase(other, "insert into schema_migration values (9999, 'future', 0)")
    await expected([['FAIL', /^the store cannot be opened: .* newer version of Tidemark \(schema 9999/, /./]], other)
    const refused = await tidemark(['app', 'create', 'x'], { env })
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, /^tidemark: .*newer version of Tidemark \(schema 9999, [^\n]*\n$/)
    assert.deepEqual(await inDatabase(other, 'select from application'), [])
    const gone = new URL('no_such_database', other).href
    await expected([['FAIL', /^the store cannot be opened: .*no_such_database.* does not exist/, /./]], gone)
  })

  test('a copy that is not finished, and a database that cannot hold every text', async () => {
    const { url: begun } = await freshDatabase()
    assert.equal((await tidemark(['migrate'], { env: { TIDEMARK_DATABASE_URL: begun } })).code, 0)
    await inDatabase(begun, 'create table unfinished_copy (instance text)')
    await expected([['FAIL', /^the store cannot be opened: the database is an unfinished copy/, /./]], begun)

    const name = `tidemark_test_${process.pid}_latin`
    await inDatabase(url, `create database ${name} encoding 'LATIN1' locale 'C' template template0`)
    const latin = new URL(url)
    latin.pathname = `/${name}`
    await expected([['FAIL', /^the encoding of the database is LATIN1$/, /encoding UTF8/]], latin.href)
  })
})
