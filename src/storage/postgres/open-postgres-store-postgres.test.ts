import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { freshDatabase } from '../../../test/support/fresh-database.ts'
import { TidemarkError } from '../../platform/errors.ts'
import { silentIncidents } from '../../platform/incidents.ts'
import type { OpenStore } from '../open-store.ts'
import { NewerStoreError } from '../open-store.ts'
import { newestMigration } from '../sql/migrate.ts'
import { migrations } from '../sql/migrations/index.ts'
import { queriesOn } from './connections.ts'
import { postgresMigrationDialect } from './migration-dialect.ts'
import { openPostgresStore, UnreachableStoreError } from './open-postgres-store.ts'

const put = (datasetId: string) => ({ kind: 'dataset.put', datasetId, name: 'x', description: null }) as const
const mark = { actor: 'test', at: 1 }
const documents = (names: readonly string[]) =>
  names.map((externalId) => ({ datasetId: 'd', platform: 'p', externalId, body: externalId }))

interface Cleaning {
  after(clean: () => Promise<void>): void
}

async function database(t: Cleaning, options = ''): Promise<string> {
  const { url, remove } = await freshDatabase(options)
  t.after(remove)
  return url
}

async function opened(t: Cleaning, url: string): Promise<OpenStore> {
  const open = await openPostgresStore(url, 4)
  t.after(() => open.close())
  return open
}

async function asAdministrator<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

const endOthers = (url: string) =>
  asAdministrator(url, (client) =>
    client.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    ),
  )

test('an empty database gets every migration once, however many processes open it at once', async (t) => {
  const url = await database(t)
  const all = await Promise.all(Array.from({ length: 4 }, () => opened(t, url)))
  assert.deepEqual(
    all.flatMap(({ migrated }) => [...migrated]),
    migrations.map(({ name }) => name),
  )
  await all[0]!.store.operator.commit([put('a')], mark)
  for (const { store } of all) assert.equal((await store.operator.datasets()).length, 1)
})

test("a process that waited for another's migration sees its result, even if it checked before", async (t) => {
  const url = await database(t)
  await asAdministrator(url, async (client) => {
    const isThere = () => postgresMigrationDialect.hasTable(queriesOn(client), 'schema_migration')
    await client.query('begin')
    assert.equal(await isThere(), false)
    // Too little to make the other session drop its cache.
    await asAdministrator(url, (other) => other.query('create table schema_migration ()'))
    assert.equal(await isThere(), true)
    await client.query('rollback')
  })
})

test('a database of a newer version is refused', async (t) => {
  const url = await database(t)
  await opened(t, url)
  await asAdministrator(url, (client) =>
    client.query(`insert into schema_migration values (${newestMigration + 1}, 'next', 0)`),
  )
  await assert.rejects(openPostgresStore(url, 2), NewerStoreError)
})

test('an unreachable database is named without its password', async () => {
  const nobody = 'postgres://someone:very-secret@127.0.0.1:9/nothing'
  await assert.rejects(openPostgresStore(nobody, 2), (error) => {
    assert.ok(error instanceof UnreachableStoreError)
    assert.match(error.message, /127\.0\.0\.1:9\/nothing cannot be used: .*ECONNREFUSED/)
    assert.doesNotMatch(error.message, /very-secret/)
    return true
  })
})

test('text is ordered by its bytes, whatever the locale of the database', async (t) => {
  const url = await database(t, "template template0 locale_provider icu icu_locale 'en-US' locale 'C.UTF-8'")
  const { store } = await opened(t, url)
  await store.operator.commit(['b', 'A', 'a', 'B', '-', 'é', 'z'].map(put), mark)
  assert.deepEqual(
    (await store.operator.datasets()).map(({ datasetId }) => datasetId),
    ['-', 'A', 'B', 'a', 'b', 'z', 'é'],
  )
})

test('connections that the server ends are replaced, and reads and writes in progress succeed', async (t) => {
  const url = await database(t)
  const { store } = await opened(t, url)
  await store.operator.commit([put('d')], mark)
  let ended = false
  const work = Array.from({ length: 6 }, async (_, worker) => {
    for (let i = 0; !ended || i < 20; i++) {
      // If the connection was lost during the commit, its outcome is unknown; sending it again is safe.
      for (let sent = false; !sent; ) {
        const results = await store.content.ingest(documents([`${worker}-${i}`]), Date.now()).catch((error) => {
          assert.ok(error instanceof TidemarkError && error.code === 'store_unavailable', String(error))
          return null
        })
        sent = results !== null
      }
      assert.equal((await store.operator.datasets()).length, 1)
    }
    return worker
  })
  for (let kill = 0; kill < 10; kill++) await endOthers(url)
  ended = true
  await Promise.all(work)
  const { newest } = await store.changes.state()
  assert.ok(newest >= 6 * 20)
})

test('a failed method writes nothing and leaves its connection usable', async (t) => {
  const { store } = await opened(t, await database(t))
  const unknown = { kind: 'key.revoke', keyId: 'key_none' } as const
  await assert.rejects(store.operator.commit([put('a'), unknown], mark), /there is no key/)
  assert.deepEqual(await store.operator.datasets(), [])
  await store.operator.commit([put('b')], mark)
  assert.equal((await store.operator.datasets()).length, 1)
})

test('a failed read does not affect later reads on its connection, and leaves no transaction open', async (t) => {
  const url = await database(t)
  const { store, close } = await openPostgresStore(url, 1)
  t.after(close)
  await store.operator.commit([put('d')], mark)
  const reads = Array.from({ length: 30 }, (_, i) =>
    // The database refuses a text with this character, after the transaction has begun.
    i % 3 === 0 ? store.indexSource.results(['\0']) : store.operator.datasets(),
  )
  const answers = await Promise.allSettled(reads)
  for (const [i, answer] of answers.entries()) {
    if (i % 3 === 0) assert.match(String((answer as PromiseRejectedResult).reason), /invalid byte sequence/)
    else assert.equal((answer as PromiseFulfilledResult<readonly unknown[]>).value.length, 1)
  }
  await store.operator.commit([put('e')], mark)
  assert.equal((await store.operator.datasets()).length, 2)
  await asAdministrator(url, async (client) => {
    const open = "select from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'"
    while ((await client.query(open)).rowCount !== 0) await pause(10)
  })
})

test('a process is notified of the writes of others, and not of its own', async (t) => {
  const url = await database(t)
  const [here, there] = await Promise.all([opened(t, url), opened(t, url)])
  const received: string[] = []
  let next = Promise.withResolvers<void>()
  here.onForeignWrite((port) => {
    received.push(port)
    next.resolve()
  }, silentIncidents)
  // The first notification shows that the process listens.
  await next.promise
  await here.store.operator.commit([put('d')], mark)
  await here.store.content.ingest(documents(['own']), 1)
  received.length = 0
  next = Promise.withResolvers()
  await there.store.content.ingest(documents(['foreign']), 1)
  await next.promise
  assert.deepEqual(received, ['content'])
})

test('columns that a newer version adds do not disturb readers on any connection', async (t) => {
  const url = await database(t)
  const { store } = await opened(t, url)
  await store.operator.commit([put('d')], mark)
  const readOnEach = () => Promise.all(Array.from({ length: 40 }, () => store.operator.datasets()))
  await readOnEach()
  await asAdministrator(url, (newer) => newer.query('alter table dataset add column later text'))
  for (const datasets of await readOnEach()) assert.equal(datasets.length, 1)
  await asAdministrator(url, (newer) => newer.query('alter table dataset add column still_later text'))
  assert.deepEqual(await store.operator.commit([put('d')], mark), ['unchanged'])
})

test('a write waits for a writer of another version, by the number of its lock', async (t) => {
  const url = await database(t)
  const { store } = await opened(t, url)
  await store.operator.commit([put('d')], mark)
  await asAdministrator(url, async (older) => {
    await older.query('select pg_advisory_lock(1952738667, 2)')
    let done = false
    const ingesting = store.content.ingest(documents(['a']), 1).finally(() => {
      done = true
    })
    const waiting = "select from pg_locks where locktype = 'advisory' and objid = 2 and not granted"
    while ((await older.query(waiting)).rowCount === 0) assert.ok(!done, 'it did not wait')
    // Writes under another lock go on, and so do reads.
    await store.operator.commit([put('e')], mark)
    assert.equal((await store.changes.state()).newest, 0)
    assert.ok(!done)
    await older.query('select pg_advisory_unlock(1952738667, 2)')
    assert.equal((await ingesting).length, 1)
  })
})

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

test('each election has one leader; when a leader ends, another process is elected', async (t) => {
  const url = await database(t)
  const [first, second] = [await openPostgresStore(url, 2), await opened(t, url)]
  assert.ok(await first.elected('vectors'))
  assert.ok(await second.elected('feeding'))
  assert.ok(!(await second.elected('vectors')))
  assert.ok(!(await first.elected('feeding')))
  assert.ok(await first.elected('vectors'))
  assert.ok(await second.elected('feeding'))
  await first.close()
  while (!(await second.elected('vectors'))) await pause(50)
  assert.ok(await second.elected('feeding'))
})

test('versions have elections of their own, and each process sees which have a leader', async (t) => {
  const url = await database(t)
  const [older, newer] = [await openPostgresStore(url, 2), await opened(t, url)]
  assert.equal(await newer.hasLeader('feeding'), false)
  assert.ok((await older.elected('feeding')) && (await newer.elected('feeding/12ab34cd')))
  assert.ok(!(await older.elected('feeding/12ab34cd')))
  const held = async () =>
    Promise.all(
      (['feeding', 'feeding/12ab34cd', 'feeding/other', 'vectors'] as const).map((one) => newer.hasLeader(one)),
    )
  assert.deepEqual(await held(), [true, true, false, false])
  await older.close()
  while (await newer.hasLeader('feeding')) await pause(50)
  assert.deepEqual(await held(), [false, true, false, false])
})

test('a process holds all its elections with one connection', async (t) => {
  const url = await database(t)
  const [first, second] = [await opened(t, url), await opened(t, url)]
  const elections = ['vectors', 'feeding', 'vectors'] as const
  assert.deepEqual(await Promise.all(elections.map((election) => first.elected(election))), [true, true, true])
  assert.deepEqual(await Promise.all(elections.map((election) => second.elected(election))), [false, false, false])
  const locks = await asAdministrator(url, async (client) => {
    const here = "locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())"
    return (await client.query(`select pid, objid from pg_locks where ${here} order by objid`)).rows
  })
  assert.deepEqual(
    locks.map(({ objid }) => objid),
    [101, 103],
  )
  assert.equal(new Set(locks.map(({ pid }) => pid)).size, 1)
})

test('a leader that loses its connection loses its elections, and stands again', async (t) => {
  const url = await database(t)
  const store = await opened(t, url)
  assert.ok((await store.elected('vectors')) && (await store.elected('feeding')))
  await endOthers(url)
  while (await store.elected('vectors')) await pause(10)
  for (const election of ['vectors', 'feeding'] as const) while (!(await store.elected(election))) await pause(50)
})

test('a process that a newer version has stopped releases its election, and wins it again when it may work', async (t) => {
  const url = await database(t)
  const store = await opened(t, url)
  store.onForeignWrite(() => {}, silentIncidents)
  assert.ok(await store.elected('vectors'))
  await asAdministrator(url, async (newer) => {
    const notify = "notify tidemark_writes, 'another schema'"
    await newer.query(`insert into schema_migration values (${newestMigration + 1}, 'next', 0); ${notify}`)
    const held = "select from pg_locks where locktype = 'advisory' and objid = 101"
    while ((await newer.query(held)).rowCount !== 0) await newer.query(notify)
    while (store.condition().ok) await newer.query(notify)
    assert.equal(await store.elected('vectors'), false)
    await assert.rejects(store.store.operator.datasets(), /upgraded by a newer version/)
    await newer.query(`delete from schema_migration where number > ${newestMigration}; ${notify}`)
    while (!(await store.elected('vectors'))) await newer.query(notify)
  })
})
