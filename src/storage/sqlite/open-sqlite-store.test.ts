import assert from 'node:assert/strict'
import { chownSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { startedThreads, threadsNamed } from '../../../test/support/started-threads.ts'
import type { ExportPosition } from '../../export/export-source.ts'
import { changesOf } from '../../indexing/read-packed.ts'
import { NewerStoreError } from '../open-store.ts'
import { newestMigration } from '../sql/migrate.ts'
import { migrations } from '../sql/migrations/index.ts'
import { openSqliteStore } from './open-sqlite-store.ts'

function folder(t: { after: (clean: () => void) => void }): string {
  const made = mkdtempSync(join(tmpdir(), 'tidemark-store-'))
  t.after(() => rmSync(made, { recursive: true, force: true }))
  return made
}

const put = (datasetId: string) => ({ kind: 'dataset.put', datasetId, name: 'x', description: null }) as const
const mark = { actor: 'test', at: 1 }

test('migrations are numbered from 1 without a gap', () => {
  assert.deepEqual(
    migrations.map(({ number }) => number),
    migrations.map((_, i) => i + 1),
  )
  assert.equal(new Set(migrations.map(({ name }) => name)).size, migrations.length)
})

test('an empty folder gets every migration once, however many processes open it at once', async (t) => {
  const dataDir = folder(t)
  const opened = await Promise.all(Array.from({ length: 4 }, () => openSqliteStore(dataDir)))
  const applied = opened.flatMap(({ migrated }) => [...migrated])
  assert.deepEqual(
    applied,
    migrations.map(({ name }) => name),
  )
  await opened[0]!.store.operator.commit([put('a')], mark)
  for (const { store } of opened) assert.equal((await store.operator.datasets()).length, 1)
  for (const one of opened) await one.close()
})

test('a store keeps its data when it is opened again, and its files belong to the owner of the folder', async (t) => {
  const dataDir = folder(t)
  // If root runs the tests, as root may run a command, the folder belongs to another user.
  const nobody = 65534
  if (process.getuid!() === 0) chownSync(dataDir, nobody, nobody)
  const first = await openSqliteStore(dataDir)
  await first.store.operator.commit([put('kept')], mark)
  const owners = readdirSync(dataDir).map((name) => [name, statSync(join(dataDir, name)).uid])
  await first.close()
  const { uid } = statSync(dataDir)
  assert.deepEqual(
    owners.filter(([, owner]) => owner !== uid),
    [],
  )
  const again = await openSqliteStore(dataDir)
  assert.deepEqual(again.migrated, [])
  assert.deepEqual(
    (await again.store.operator.datasets()).map((one) => one.datasetId),
    ['kept'],
  )
  await again.close()
})

test('a store of a newer version is refused', async (t) => {
  const dataDir = folder(t)
  await (await openSqliteStore(dataDir)).close()
  const raw = new DatabaseSync(join(dataDir, 'tidemark.sqlite'))
  raw.exec(`insert into schema_migration (number, name, applied_at) values (${newestMigration + 1}, 'next', 0)`)
  raw.close()
  await assert.rejects(openSqliteStore(dataDir), NewerStoreError)
})

test('harmless migrations of newer versions do not matter, until one is breaking', async (t) => {
  const dataDir = folder(t)
  await (await openSqliteStore(dataDir)).close()
  const apply = (number: number, table: 'schema_migration' | 'harmless_migration') => {
    const raw = new DatabaseSync(join(dataDir, 'tidemark.sqlite'))
    const values = table === 'schema_migration' ? `${number}, 'later', 0` : number
    raw.exec(`insert into ${table} values (${values})`)
    raw.close()
  }
  for (const number of [newestMigration + 1, newestMigration + 2]) {
    apply(number, 'schema_migration')
    await assert.rejects(openSqliteStore(dataDir), NewerStoreError)
    apply(number, 'harmless_migration')
    const open = await openSqliteStore(dataDir)
    assert.deepEqual(open.migrated, [])
    await open.store.operator.commit([put(`in-${number}`)], mark)
    await open.close()
  }
  apply(newestMigration + 3, 'schema_migration')
  apply(newestMigration + 4, 'schema_migration')
  apply(newestMigration + 4, 'harmless_migration')
  await assert.rejects(openSqliteStore(dataDir), NewerStoreError)
})

test('a store records for every migration whether older versions can work with it', async (t) => {
  const dataDir = folder(t)
  await (await openSqliteStore(dataDir)).close()
  const raw = new DatabaseSync(join(dataDir, 'tidemark.sqlite'), { readOnly: true })
  const harmless = raw.prepare('select number from harmless_migration order by number').all()
  raw.close()
  assert.deepEqual(
    harmless.map(({ number }) => number),
    migrations.filter(({ breaking }) => !breaking).map(({ number }) => number),
  )
})

test('a committed change is on disk: another connection sees it before the first is closed', async (t) => {
  const dataDir = folder(t)
  const open = await openSqliteStore(dataDir)
  await open.store.operator.commit([put('a')], mark)
  const raw = new DatabaseSync(join(dataDir, 'tidemark.sqlite'), { readOnly: true })
  assert.equal(raw.prepare('pragma journal_mode').get()?.journal_mode, 'wal')
  assert.equal(raw.prepare('select count(*) as n from dataset').get()?.n, 1)
  raw.close()
  await open.close()
})

test('hundreds of concurrent reads all succeed, and the load returns to zero', async (t) => {
  const open = await openSqliteStore(folder(t))
  await open.store.operator.commit([put('a')], mark)
  const reads = Array.from({ length: 500 }, () => open.store.operator.datasets())
  assert.ok(open.load().readers > 400)
  for (const datasets of await Promise.all(reads)) assert.equal(datasets.length, 1)
  assert.deepEqual(open.load(), { writer: 0, readers: 0 })
  await open.close()
})

test('a continued export has a thread of its own; when it exits, other calls continue and a new thread replaces it', async (t) => {
  const open = await openSqliteStore(folder(t))
  await open.store.operator.commit([put('a')], mark)
  const document = (i: number) => ({ datasetId: 'a', platform: 'p', externalId: String(i), title: `title ${i}` })
  await open.store.content.ingest(
    Array.from({ length: 20 }, (_, i) => document(i)),
    1,
  )
  const entry = {
    datasets: ['a'],
    platforms: null,
    languages: null,
    regions: null,
    publishedFrom: null,
    publishedTo: null,
  }
  const scope = { entries: [{ ...entry, fields: ['body'] as const }] }
  const portion = (after: ExportPosition | null) =>
    open.store.exportSource.portion({ scope, after, versions: 'current', documentsMax: 10 })
  const first = await portion(null)
  assert.equal(threadsNamed('store bulk reader').length, 0, 'not for the first portion')
  const second = await portion(first.position)
  assert.deepEqual([first.documents, second.documents], [10, 10])
  const [reader] = threadsNamed('store bulk reader')
  const going = portion(first.position)
  assert.deepEqual(open.load(), { writer: 0, readers: 1 })
  const settled = Promise.allSettled([going])
  await reader!.terminate()
  const [gone] = await settled
  // It may just have finished.
  if (gone.status === 'rejected') assert.equal(gone.reason.code, 'store_unavailable')
  assert.equal((await open.store.operator.datasets()).length, 1)
  assert.deepEqual((await portion(first.position)).documents, 10, 'a new thread replaces it')
  await open.close()
  assert.deepEqual(startedThreads, [])
})

test('if many documents wait for the index, the bulk reader prepares them', async (t) => {
  const open = await openSqliteStore(folder(t))
  await open.store.operator.commit([put('a')], mark)
  await open.store.content.ingest(
    ['one', 'two', 'three'].map((body) => ({ datasetId: 'a', platform: 'p', externalId: body, body })),
    1,
  )
  const prepared = (revision: number, isBehind: boolean) =>
    open.store.indexSource.preparedAfter(revision, { documents: 2, characters: 1000, isBehind })
  const first = await prepared(0, false)
  assert.equal(threadsNamed('store bulk reader').length, 0, 'not for the first portion')
  const second = await prepared(first!.position, true)
  assert.equal(threadsNamed('store bulk reader').length, 1)
  assert.deepEqual([first!.isFull, second!.isFull], [true, false])
  const words = [first, second].flatMap((portion) =>
    changesOf(portion!.changes).map((change) => change.kind === 'put_version' && change.chunks[0]!.body.terms[0]),
  )
  assert.deepEqual(words, ['one', 'two', 'three'])
  assert.equal(await prepared(second!.position, true), null)
  await open.close()
})

test('for one caller there is one thread, which reads while a server writes, and also writes', async (t) => {
  const dataDir = folder(t)
  const open = await openSqliteStore(dataDir, { callers: 'one' })
  assert.deepEqual(
    startedThreads.map(({ threadName }) => threadName),
    ['store writer'],
  )
  const server = new DatabaseSync(join(dataDir, 'tidemark.sqlite'))
  server.exec('begin immediate')
  assert.deepEqual(await open.store.operator.datasets(), [], 'a read takes no write lock')
  server.exec('rollback')
  server.close()
  await open.store.operator.commit([put('a')], mark)
  assert.equal((await open.store.operator.datasets()).length, 1)
  assert.deepEqual(open.condition(), { ok: true, troubles: [] })
  await open.close()
  assert.deepEqual(startedThreads, [])
})

test('opening an up-to-date store does not wait for writers', async (t) => {
  const dataDir = folder(t)
  await (await openSqliteStore(dataDir)).close()
  const server = new DatabaseSync(join(dataDir, 'tidemark.sqlite'))
  server.exec('begin immediate')
  const open = await openSqliteStore(dataDir)
  assert.deepEqual(await open.store.operator.datasets(), [])
  server.exec('rollback')
  server.close()
  await open.close()
})

test('a call that cannot be sent to a thread rejects at once', async (t) => {
  const open = await openSqliteStore(folder(t))
  const commit = open.store.operator.commit as (changes: unknown, mark: unknown) => Promise<unknown>
  await assert.rejects(commit([() => {}], mark), /could not be cloned/)
  assert.deepEqual(open.load(), { writer: 0, readers: 0 })
  await open.close()
})

test('after it is closed every call fails at once', async (t) => {
  const open = await openSqliteStore(folder(t))
  await open.close()
  await assert.rejects(open.store.operator.commit([put('a')], mark), /closed/)
})

test('a server is notified of the writes of a command', async (t) => {
  const dataDir = folder(t)
  const server = await openSqliteStore(dataDir)
  const command = await openSqliteStore(dataDir, { callers: 'one' })
  const notified = Promise.withResolvers<void>()
  const following = server.notifications!.follow(notified.resolve)
  await command.store.operator.commit([put('a')], mark)
  await notified.promise
  following.end()
  await command.close()
  await server.close()
})
