import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { unprivileged } from '../../scripts/throwaway-server.ts'
import { MemoryDisk, skippedWithoutMount } from '../support/memory-disk.ts'
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

/** The words of each command, and of doctor, about a store that cannot be used. */
async function saidOf(
  dataDir: string,
  commands: readonly (readonly string[])[],
  user?: NonNullable<ReturnType<typeof unprivileged>>,
): Promise<readonly string[]> {
  const options = { dataDir, ...(user === undefined ? {} : { user }) }
  const said: string[] = []
  for (const args of commands) {
    const { code, stderr } = await tidemark(args, options)
    assert.equal(code, 1, `${args.join(' ')}: ${stderr}`)
    said.push(stderr)
  }
  const { code, stdout } = await tidemark(['doctor'], options)
  assert.equal(code, 1, stdout)
  return [...said, stdout]
}

const using = [['serve'], ['migrate'], ['app', 'list']]

const other = unprivileged()
/** The other user may not even run this, where the checkout is closed to it. */
const program = new URL('../../bin/tidemark.js', import.meta.url).pathname
const isShut = other !== null && spawnSync(process.execPath, [program, '--version'], { ...other }).status !== 0

test('a store that belongs to another user is not taken for none: it is said whose it has to be', {
  skip: isShut && 'another user cannot read this checkout',
}, async () => {
  const folder = freshFolder()
  const dataDir = join(folder, 'data')
  assert.equal((await tidemark(['migrate'], { dataDir })).code, 0)
  const before = snapshot(dataDir)
  chmodSync(folder, 0o755)
  // It is closed to others. Where nobody else can be had its owner is shut out too.
  if (other === null) chmodSync(dataDir, 0)
  try {
    const commands = [...using, ['reindex'], ['copy', '--to', 'postgres://127.0.0.1:9/x']]
    for (const text of await saidOf(dataDir, commands, other ?? undefined)) {
      assert.match(text, /run this as the user that owns it|check that this user can read and write the files/)
      assert.doesNotMatch(text, /there is no (instance|store)|no store yet|restore/)
    }
  } finally {
    chmodSync(dataDir, 0o700)
  }
  assert.deepEqual(snapshot(dataDir), before)
})

test('a folder in the place of the database is named, and nobody is told to restore', async () => {
  const dataDir = freshFolder()
  mkdirSync(join(dataDir, 'tidemark.sqlite'))
  for (const text of await saidOf(dataDir, using)) {
    assert.match(text, /tidemark\.sqlite in the data folder cannot be used: .*; .*make sure that it is a file/)
    assert.doesNotMatch(text, /restore/)
  }
})

test('a pipe in the place of a file is not waited for', async () => {
  const server = await startServer({ env: { TIDEMARK_ADMIN_TOKEN: '' } })
  const backups = freshFolder()
  assert.equal((await server.tidemark(['backup', backups])).code, 0)
  assert.equal(await server.stop(), 0)
  const backup = join(backups, readdirSync(backups)[0]!)
  const pipe = (path: string): void => {
    rmSync(path, { force: true })
    execFileSync('mkfifo', [path])
  }
  const ended = async (args: readonly string[], named: RegExp) => {
    const { code, stdout, stderr } = await server.tidemark(args)
    assert.equal(code, 1, `${args.join(' ')}: ${stdout}${stderr}`)
    assert.match(stdout + stderr, named)
  }
  pipe(join(backup, 'manifest.json'))
  await ended(['restore', backup, '--force'], /manifest\.json: it is not a regular file/)
  await ended(['restore', backups, '--force'], /manifest\.json: it is not a regular file/)
  pipe(join(server.dataDir, 'search.current'))
  await ended(
    ['doctor'],
    /FAIL +the search index cannot be checked: .*search\.current is not a regular file; .*remove it/,
  )
  await ended(['serve'], /search\.current is not a regular file/)
  pipe(join(server.dataDir, 'admin-token.sha256'))
  await ended(['backup', freshFolder()], /admin-token\.sha256 is not a regular file/)
  pipe(join(server.dataDir, 'tidemark.sqlite'))
  await ended(['doctor'], /unable to open database file: it is a pipe; make sure that it is a file/)
  await ended(['serve'], /unable to open database file/)
})

test('a database that another program holds is waited for, not restored', async () => {
  const dataDir = freshFolder()
  assert.equal((await tidemark(['migrate'], { dataDir })).code, 0)
  const holder = new DatabaseSync(join(dataDir, 'tidemark.sqlite'))
  holder.exec('pragma locking_mode = exclusive; begin exclusive')
  try {
    for (const text of await saidOf(dataDir, [['app', 'list']])) {
      assert.match(text, /database is locked; another process holds it: wait until that has finished, or stop it/)
      assert.doesNotMatch(text, /restore/)
    }
  } finally {
    holder.close()
  }
  assert.equal((await tidemark(['app', 'list'], { dataDir })).code, 0)
})

test('a store on a disk that is mounted read-only is intact, and nobody is told to restore', async (t) => {
  const disk = MemoryDisk.mount(64)
  if (disk === null) return t.skip(skippedWithoutMount)
  t.after(() => disk.remove())
  const dataDir = join(disk.folder, 'data')
  assert.equal((await tidemark(['migrate'], { dataDir })).code, 0)
  disk.makeReadOnly()
  for (const text of await saidOf(dataDir, using)) {
    assert.match(text, /give this user read and write permission.*mounted read-only/)
    assert.doesNotMatch(text, /restore/)
  }
})

test('a database whose head is damaged is not taken for one that is read-only', async () => {
  const dataDir = freshFolder()
  assert.equal((await tidemark(['migrate'], { dataDir })).code, 0)
  const path = join(dataDir, 'tidemark.sqlite')
  const bytes = readFileSync(path)
  bytes[18] = 0xff
  writeFileSync(path, bytes)
  const { code, stderr } = await tidemark(['serve'], { dataDir })
  assert.equal(code, 1)
  assert.match(
    stderr,
    /the database file is damaged: stop the server and restore a backup \(tidemark restore FOLDER --force\)/,
  )
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

test('a folder of artifacts that cannot be written is named by readiness and doctor, with what to do, until it can', async () => {
  const place = join(freshFolder(), 'artifacts')
  writeFileSync(place, '')
  const server = await startServer({ env: { TIDEMARK_ARTIFACTS_URL: `file://${place}` } })
  const before = await server.call('GET', '/readyz')
  assert.equal(before.status, 503)
  assert.equal(before.body.checks.artifacts.ok, false)
  assert.match(before.body.checks.artifacts.detail, /file where their folder should be; .*TIDEMARK_ARTIFACTS_URL$/)
  assert.ok(!before.text.includes(place), 'no path is told')
  const doctor = await server.tidemark(['doctor'])
  assert.equal(doctor.code, 1)
  assert.match(
    doctor.stdout,
    /FAIL +artifacts cannot be kept in .*\n +do: move that file away, .*TIDEMARK_ARTIFACTS_URL/,
  )
  rmSync(place)
  await until('it is ready', async () => (await server.call('GET', '/readyz')).status === 200)
  const well = await server.tidemark(['doctor'])
  assert.match(well.stdout, /ok +artifacts are kept in .*, which can be written/)
  assert.equal(await server.stop(), 0)
})

test('artifacts on a disk that is mounted read-only cannot be kept, and it is said to whom to give the folder', async (t) => {
  const disk = MemoryDisk.mount(1)
  if (disk === null) return t.skip(skippedWithoutMount)
  t.after(() => disk.remove())
  disk.makeReadOnly()
  const env = { TIDEMARK_ARTIFACTS_URL: `file://${join(disk.folder, 'artifacts')}` }
  const { code, stdout } = await tidemark(['doctor'], { env })
  assert.equal(code, 1)
  assert.match(
    stdout,
    /FAIL +artifacts .*cannot write to their folder \(EROFS\)\n +do: give it to user \d+ \(chown \d+\)/,
  )
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

/**
 * All files in a folder, and the folder itself, that users other than its owner can access, with their modes. A server
 * may be moving a file meanwhile.
 */
function openToOthers(folder: string): string[] {
  const paths = ['.', ...readdirSync(folder, { recursive: true, encoding: 'utf8' })]
  return paths.flatMap((path) => {
    const found = statSync(join(folder, path), { throwIfNoEntry: false })
    const mode = (found?.mode ?? 0) & 0o777
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
