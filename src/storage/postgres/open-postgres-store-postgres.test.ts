import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { freshDatabase } from '../../../test/support/fresh-database.ts'
import { TidemarkError } from '../../errors.ts'
import { silentIncidents } from '../../incidents.ts'
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

test('an empty database gets every migration once, however many open it at once', async (t) => {
  const url = await database(t)
  const all = await Promise.all(Array.from({ length: 4 }, () => opened(t, url)))
  assert.deepEqual(
    all.flatMap(({ migrated }) => [...migrated]),
    migrations.map(({ name }) => name),
  )
  await all[0]!.store.operator.commit([put('a')], mark)
  for (const { store } of all) assert.equal((await store.operator.datasets()).length, 1)
})

test('whoever waited for another to migrate sees what that made, though it looked before', async (t) => {
  const url = await database(t)
  await asAdministrator(url, async (client) => {
    const isThere = () => postgresMigrationDialect.hasTable(queriesOn(client), 'schema_migration')
    await client.query('begin')
    assert.equal(await isThere(), false)
    // So little that nothing makes the other forget what it remembers.
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

test('what cannot be reached is named without its password', async () => {
  const nobody = 'postgres://someone:very-secret@127.0.0.1:9/nothing'
  await assert.rejects(openPostgresStore(nobody, 2), (error) => {
    assert.ok(error instanceof UnreachableStoreError)
    assert.match(error.message, /127\.0\.0\.1:9\/nothing cannot be used: .*ECONNREFUSED/)
    assert.doesNotMatch(error.message, /very-secret/)
    return true
  })
})

test('text is in the order of its bytes, whatever language the database was made for', async (t) => {
  const url = await database(t, "template template0 locale_provider icu icu_locale 'en-US' locale 'C.UTF-8'")
  const { store } = await opened(t, url)
  await store.operator.commit(['b', 'A', 'a', 'B', '-', 'é', 'z'].map(put), mark)
  assert.deepEqual(
    (await store.operator.datasets()).map(({ datasetId }) => datasetId),
    ['-', 'A', 'B', 'a', 'b', 'z', 'é'],
  )
})

test('connections that the server ends are replaced: reads and writes under way are done all the same', async (t) => {
  const url = await database(t)
  const { store } = await opened(t, url)
  await store.operator.commit([put('d')], mark)
  let ended = false
  const work = Array.from({ length: 6 }, async (_, worker) => {
    for (let i = 0; !ended || i < 20; i++) {
      // Where the connection was lost at the very commit nobody can say whether it was done; sending again is safe.
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

test('a method that fails leaves nothing behind and its connection good for the next', async (t) => {
  const { store } = await opened(t, await database(t))
  const unknown = { kind: 'key.revoke', keyId: 'key_none' } as const
  await assert.rejects(store.operator.commit([put('a'), unknown], mark), /there is no key/)
  assert.deepEqual(await store.operator.datasets(), [])
  await store.operator.commit([put('b')], mark)
  assert.equal((await store.operator.datasets()).length, 1)
})

test('a read that fails disturbs none of those that have its connection next, and no transaction stays open', async (t) => {
  const url = await database(t)
  const { store, close } = await openPostgresStore(url, 1)
  t.after(close)
  await store.operator.commit([put('d')], mark)
  const reads = Array.from({ length: 30 }, (_, i) =>
    // A text with this sign the database refuses, after the transaction has begun.
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

test('a process hears of what others write, and not of what it writes itself', async (t) => {
  const url = await database(t)
  const [here, there] = await Promise.all([opened(t, url), opened(t, url)])
  const heard: string[] = []
  let next = Promise.withResolvers<void>()
  here.onForeignWrite((port) => {
    heard.push(port)
    next.resolve()
  }, silentIncidents)
  // The first word is that it listens now.
  await next.promise
  await here.store.operator.commit([put('d')], mark)
  await here.store.content.ingest(documents(['own']), 1)
  heard.length = 0
  next = Promise.withResolvers()
  await there.store.content.ingest(documents(['foreign']), 1)
  await next.promise
  assert.deepEqual(heard, ['content'])
})

test('what a newer version adds to tables does not disturb those that read them: each connection learns of it', async (t) => {
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

test('a writer of another version is waited for, by the number of its lock', async (t) => {
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
    // What takes another lock goes on, and so does what reads.
    await store.operator.commit([put('e')], mark)
    assert.equal((await store.changes.state()).newest, 0)
    assert.ok(!done)
    await older.query('select pg_advisory_unlock(1952738667, 2)')
    assert.equal((await ingesting).length, 1)
  })
})

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

test('an office has one process, each office its own; when a process ends another one has what it held', async (t) => {
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

test('a process asks for all its offices over one connection', async (t) => {
  const url = await database(t)
  const [first, second] = [await opened(t, url), await opened(t, url)]
  const offices = ['vectors', 'feeding', 'vectors'] as const
  assert.deepEqual(await Promise.all(offices.map((office) => first.elected(office))), [true, true, true])
  assert.deepEqual(await Promise.all(offices.map((office) => second.elected(office))), [false, false, false])
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

test('with a lost connection the offices are lost too, and asked for again', async (t) => {
  const url = await database(t)
  const store = await opened(t, url)
  assert.ok((await store.elected('vectors')) && (await store.elected('feeding')))
  await endOthers(url)
  while (await store.elected('vectors')) await pause(10)
  for (const office of ['vectors', 'feeding'] as const) while (!(await store.elected(office))) await pause(50)
})

test('a process whose work a newer version ended leaves the vectors to others, and has them again when it may', async (t) => {
  const url = await database(t)
  const store = await opened(t, url)
  store.onForeignWrite(() => {}, silentIncidents)
  assert.ok(await store.elected('vectors'))
  await asAdministrator(url, async (newer) => {
    const told = "notify tidemark_writes, 'another schema'"
    await newer.query(`insert into schema_migration values (${newestMigration + 1}, 'next', 0); ${told}`)
    const held = "select from pg_locks where locktype = 'advisory' and objid = 101"
    while ((await newer.query(held)).rowCount !== 0) await newer.query(told)
    while (store.condition().ok) await newer.query(told)
    assert.equal(await store.elected('vectors'), false)
    await assert.rejects(store.store.operator.datasets(), /upgraded by a newer version/)
    await newer.query(`delete from schema_migration where number > ${newestMigration}; ${told}`)
    while (!(await store.elected('vectors'))) await newer.query(told)
  })
})
