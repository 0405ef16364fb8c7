import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { until } from '../support/until.ts'
import { documentOf, send } from './content.ts'
import { freshFolder, startServer, tidemark } from './harness.ts'

/** Every file of a folder with the hash of its bytes. */
function snapshot(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return Object.fromEntries(
    files.map((entry) => [entry.name, hash('sha256', readFileSync(join(entry.parentPath, entry.name)))]),
  )
}

test('data written by a newer version is refused by every command and left as it is, byte for byte', async () => {
  const server = await startServer()
  await server.makeDataset('news')
  assert.equal(await server.stop(), 0)
  const database = new DatabaseSync(join(server.dataDir, 'tidemark.sqlite'))
  database.exec("insert into schema_migration (number, name, applied_at) values (9999, 'from the future', 0)")
  database.close()
  const before = snapshot(server.dataDir)
  assert.ok(Object.keys(before).includes('tidemark.sqlite'))

  for (const args of [['serve'], ['migrate'], ['app', 'create', 'x']]) {
    const { code, stdout, stderr } = await server.tidemark(args)
    assert.equal(code, 2, `${args.join(' ')}: ${stderr}`)
    assert.equal(stdout, '')
    assert.match(stderr, /^tidemark: .*newer version of Tidemark \(schema 9999, .*\): start that version, or restore/)
    assert.equal(stderr.trim().split('\n').length, 1)
    assert.deepEqual(snapshot(server.dataDir), before, `${args.join(' ')} changed something`)
  }
  const doctor = await server.tidemark(['doctor'])
  assert.equal(doctor.code, 1)
  assert.match(doctor.stdout, /FAIL .*newer version/)
  assert.deepEqual(snapshot(server.dataDir), before)
})

test('doctor only looks: it makes no store, and brings none up to date', async () => {
  const dataDir = freshFolder()
  const empty = await tidemark(['doctor'], { dataDir })
  assert.equal(empty.code, 0)
  assert.match(empty.stdout, /note +no store yet\n +do: tidemark serve/)
  assert.deepEqual(readdirSync(dataDir), [])

  assert.equal((await tidemark(['migrate'], { dataDir })).code, 0)
  const database = new DatabaseSync(join(dataDir, 'tidemark.sqlite'))
  database.exec('delete from schema_migration where number = (select max(number) from schema_migration)')
  database.close()
  const before = snapshot(dataDir)
  const old = await tidemark(['doctor'], { dataDir })
  assert.equal(old.code, 0)
  assert.match(old.stdout, /note +the store is of an older version \(schema \d+, .*\n +do: make a backup/)
  assert.deepEqual(snapshot(dataDir), before)
})

test('doctor names a file that is no database', async () => {
  const dataDir = freshFolder()
  writeFileSync(join(dataDir, 'tidemark.sqlite'), 'not a database '.repeat(500))
  const { code, stdout } = await tidemark(['doctor'], { dataDir })
  assert.equal(code, 1)
  assert.match(stdout, /FAIL +the store cannot be opened: .*not a database.*\n +do: tidemark restore FOLDER --force/)
  const started = await tidemark(['serve'], { dataDir })
  assert.equal(started.code, 1)
  assert.match(started.stderr, /^tidemark: .* not a database; restore a backup \(tidemark restore FOLDER --force\)/)
})

test('a database that turns out to be damaged is said to be, with what to do, by readiness and doctor', async () => {
  const server = await startServer()
  await server.makeDataset('news')
  const collector = await server.makeCollector()
  await send(server, collector.key, [documentOf('a')])
  const { key } = await server.makeApplication({ entitlements: [{ datasets: ['news'] }] })
  assert.equal(await server.stop(), 0)
  const path = join(server.dataDir, 'tidemark.sqlite')
  const database = new DatabaseSync(path)
  const size = Number(database.prepare('pragma page_size').get()!.page_size)
  const pages = database.prepare(
    "select rootpage from sqlite_master where tbl_name in ('document', 'document_version')",
  )
  const roots = pages.all().map(({ rootpage }) => Number(rootpage))
  database.close()
  const bytes = readFileSync(path)
  for (const root of roots) bytes.fill(0xff, (root - 1) * size, root * size)
  writeFileSync(path, bytes)

  await server.start()
  const answer = await server.consumer(key, 'GET', '/v1/documents/browse')
  assert.equal(answer.status, 503, answer.text)
  const ready = await server.call('GET', '/readyz')
  assert.equal(ready.status, 503)
  assert.equal(ready.body.checks.store.ok, false)
  assert.match(
    ready.body.checks.store.detail,
    /damaged: stop the server and restore a backup \(tidemark restore FOLDER/,
  )
  const doctor = await server.tidemark(['doctor'])
  assert.equal(doctor.code, 1, doctor.stdout)
  assert.match(doctor.stdout, /FAIL .*damaged.*\n +do: tidemark restore FOLDER --force/)
  await server.stop()
})

test('of servers that start at once on an empty folder one serves, and the others say why they do not', async () => {
  const dataDir = freshFolder()
  const env = { TIDEMARK_ADMIN_TOKEN: '' }
  const starts = await Promise.allSettled(Array.from({ length: 3 }, () => startServer({ dataDir, env })))
  const served = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []))
  const refused = starts.flatMap((start) => (start.status === 'rejected' ? [String(start.reason)] : []))
  assert.equal(served.length, 1, refused.join('\n'))
  for (const reason of refused) {
    assert.match(
      reason,
      /ended with code 1 .*: tidemark: .* is served by another process: stop it, or set TIDEMARK_DATA_DIR/,
    )
  }
  const server = served[0]!
  const token = /shown only once: (tma_\S+)/.exec(server.stdout)?.[1]
  assert.ok(token !== undefined, 'the one that serves has shown the admin token')
  assert.equal((await server.as(token, 'PUT', '/admin/v1/datasets/news', { name: 'News' })).status, 201)
  assert.equal(await server.stop(), 0)
  const { code, stdout } = await tidemark(['migrate'], { dataDir })
  assert.equal(code, 0)
  assert.equal(stdout, 'up to date\n')
})

test('commands that start at once on an empty folder all come through, beside a server too', async () => {
  const dataDir = freshFolder()
  const made = await Promise.all(
    Array.from({ length: 3 }, (_, i) => tidemark(['app', 'create', `app ${i}`], { dataDir })),
  )
  for (const { code, stderr } of made) assert.equal(code, 0, stderr)
  const server = await startServer({ dataDir })
  const { applications } = await server.mustAdmin('GET', '/admin/v1/applications')
  assert.deepEqual(applications.map((one: { name: string }) => one.name).sort(), ['app 0', 'app 1', 'app 2'])
  for (const { stdout } of made) {
    const key = /tmc_\S+/.exec(stdout)![0]
    assert.equal((await server.consumer(key, 'GET', '/v1/account')).status, 200)
  }
  const beside = await server.tidemark(['app', 'create', 'beside'])
  assert.equal(beside.code, 0, beside.stderr)
  await until('the server knows the new key', async () => {
    return (await server.consumer(/tmc_\S+/.exec(beside.stdout)![0], 'GET', '/v1/account')).status === 200
  })
})

test('a start on a taken port says so first: nothing is made, and no token shown', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => taken.once('listening', resolve))
  const { port } = taken.address() as { port: number }
  const dataDir = freshFolder()
  const env = { TIDEMARK_ADMIN_TOKEN: '', TIDEMARK_PORT: String(port) }
  for (const command of ['serve', 'start']) {
    const { code, stdout, stderr } = await tidemark([command], { dataDir, env })
    assert.deepEqual([code, stdout], [2, ''])
    assert.match(stderr, /^tidemark: TIDEMARK_PORT is \d+, but that port is already in use: [^\n]*\n$/)
    assert.deepEqual(readdirSync(dataDir), [])
  }
  taken.close()
})

test('a data folder that nobody can make is named, and nothing hangs', {
  skip: !existsSync('/proc/self') && 'there is no /proc here',
}, async () => {
  for (const args of [['serve'], ['migrate']]) {
    const { code, stderr } = await tidemark(args, { dataDir: '/proc/nope' })
    assert.equal(code, 2)
    assert.match(
      stderr,
      /^tidemark: TIDEMARK_DATA_DIR is "\/proc\/nope", but it must be a folder that this user can create/,
    )
  }
})

test('doctor counts the chunks of index and store, and says where they differ', async () => {
  const server = await startServer()
  await server.makeDataset('news')
  const { key } = await server.makeCollector()
  const body = 'Tides turn twice a day. '.repeat(400)
  await send(server, key, [
    documentOf('long', { body }),
    documentOf('title-only', { body: null }),
    documentOf('no-words', { title: null, body: '…' }),
    ...Array.from({ length: 20 }, (_, i) => documentOf(`d-${i}`)),
  ])
  await send(server, key, [
    documentOf('long', { body: `${body} And again.` }),
    documentOf('d-1', { status: 'unavailable' }),
  ])
  const indexing = () => server.mustAdmin('GET', '/admin/v1/indexing')
  await until('all is indexed', async () => (await indexing()).pending_chunks === 0)
  const { indexed_chunks } = await indexing()
  const well = await server.tidemark(['doctor'])
  assert.match(well.stdout, new RegExp(`ok +search index: ${indexed_chunks} chunks, .*up to date`))
  assert.equal(await server.stop(), 0)
  const database = new DatabaseSync(join(server.dataDir, 'tidemark.sqlite'))
  database.exec(
    'update chunk set replaced = 1 where chunk_id = (select max(chunk_id) from chunk where replaced is null)',
  )
  database.close()
  const { stdout } = await server.tidemark(['doctor'])
  assert.match(
    stdout,
    new RegExp(`note +search index: ${indexed_chunks} chunks, .*the store has ${indexed_chunks - 1} .*\\n +do: run`),
  )
})

/** Everything in and of a folder that others than its owner may touch, with its mode. */
function openToOthers(folder: string): string[] {
  const paths = ['.', ...readdirSync(folder, { recursive: true, encoding: 'utf8' })]
  return paths.flatMap((path) => {
    const mode = statSync(join(folder, path)).mode & 0o777
    return (mode & 0o077) === 0 ? [] : [`${path} ${mode.toString(8)}`]
  })
}

test('what is made in the data folder and as a backup is for its owner alone, and doctor notices where it is not', async () => {
  const folder = freshFolder()
  const dataDir = join(folder, 'made', 'data')
  const env = { TIDEMARK_ADMIN_TOKEN: '' }
  const server = await startServer({ dataDir, env })
  const token = /shown only once: (tma_\S+)/.exec(server.stdout)![1]!
  assert.equal((await server.as(token, 'PUT', '/admin/v1/datasets/news', { name: 'News' })).status, 201)
  const collector = (await server.as(token, 'POST', '/admin/v1/collectors', { name: 'c' })).body
  await send(server, collector.collector_key, [documentOf('a')])
  const backup = await server.tidemark(['backup', join(folder, 'backups')])
  assert.equal(backup.code, 0, backup.stderr)
  const names = readdirSync(dataDir)
  for (const expected of ['tidemark.sqlite', 'tidemark.sqlite-wal', 'admin-token.sha256', 'search.current']) {
    assert.ok(names.includes(expected), `${expected} of ${names}`)
  }
  assert.deepEqual(openToOthers(folder), [])
  const closed = await server.tidemark(['doctor'])
  assert.match(closed.stdout, /ok +the data folder is closed to other users/)

  chmodSync(dataDir, 0o755)
  chmodSync(join(dataDir, 'tidemark.sqlite'), 0o640)
  const open = await server.tidemark(['doctor'])
  assert.equal(open.code, 0)
  assert.match(
    open.stdout,
    /note +the data folder is open to other users .*: \., tidemark\.sqlite\n +do: chmod -R go= "/,
  )
  assert.equal(await server.stop(), 0)
})
