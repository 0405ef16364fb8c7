import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { chownSync, cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { before, suite, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { until } from '../support/until.ts'
import { type AnalysisWorld, startAnalysisWorld } from './analysis-world.ts'
import { absentFolder, backedUp, restored } from './backups.ts'
import { documentOf, feedAnswer, feedPage, send, wholeFeed } from './content.ts'
import { freshFolder, startServer, startTidemark, tidemark } from './harness.ts'

const nobody = 65534

/** Every file of a folder with the hash of its bytes. */
function filesOf(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return Object.fromEntries(
    files.map((entry) => {
      const path = join(entry.parentPath, entry.name)
      return [path, hash('sha256', readFileSync(path))]
    }),
  )
}

/** As somebody could who knows the format. */
function rewriteManifest(folder: string): void {
  const path = join(folder, 'manifest.json')
  const { checksum: _, ...manifest } = JSON.parse(readFileSync(path, 'utf8'))
  const store = readFileSync(join(folder, 'tidemark.sqlite'))
  for (const file of manifest.files) {
    if (file.path === 'tidemark.sqlite') Object.assign(file, { bytes: store.length, sha256: hash('sha256', store) })
  }
  writeFileSync(path, JSON.stringify({ ...manifest, checksum: hash('sha256', JSON.stringify(manifest)) }))
}

suite('backup and restore', () => {
  let world: AnalysisWorld
  let backup: string

  before(async () => {
    world = await startAnalysisWorld()
    await world.put(...Array.from({ length: 20 }, (_, i) => documentOf(`a-${i}`, { body: `tide ${i} harbour` })))
    await world.graph()
    backup = await backedUp(world.server)
  })

  test('made while documents come in: everything acknowledged before is in it, and nothing is between', async () => {
    const { server, key } = world
    const { collector } = world.search
    const { cursor } = await wholeFeed(server, key)
    const edges = await world.graph()
    const [run] = (await server.consumer(key, 'GET', '/v1/analysis/runs?limit=1')).body.runs

    const acknowledged: string[] = []
    let batches = 0
    let writing = true
    const writer = (async () => {
      for (; writing; batches++) {
        const documents = Array.from({ length: 20 }, (_, i) => documentOf(`w-${batches}-${i}`))
        for (const result of await send(server, collector, documents)) acknowledged.push(result.document_id!)
      }
    })()
    await until('some batches are in', async () => batches >= 3)
    const before = [...acknowledged]
    const batchesBefore = batches
    const folder = await backedUp(server)
    writing = false
    await writer
    assert.ok(batches > batchesBefore, 'writers were not held up')
    const { events: written, cursor: end } = await wholeFeed(server, key)

    const dataDir = absentFolder()
    const elsewhere = { TIDEMARK_ARTIFACTS_URL: pathToFileURL(absentFolder()).href }
    const { code, stderr } = await tidemark(['restore', folder], { dataDir, env: elsewhere })
    assert.equal(code, 0, stderr)
    const again = await startServer({ dataDir, env: { ...world.search.embedding.env, ...elsewhere } })
    for (let start = 0; start < before.length; start += 200) {
      const document_ids = before.slice(start, start + 200)
      const { body } = await again.consumer(key, 'POST', '/v1/documents/batch-get', { document_ids })
      assert.deepEqual(body.missing, [])
    }
    const { events } = await wholeFeed(again, key)
    assert.deepEqual(events, written.slice(0, events.length), 'the feed is a beginning of the one that was read')
    const after = await wholeFeed(again, key, { cursor })
    assert.deepEqual(after.events, events.slice(-after.events.length))
    assert.ok(after.events.length >= before.length)

    // A reader that has seen events from after the backup starts over. A reader that has not seen them gets the new
    // events.
    const { cursor: last } = await wholeFeed(again, key)
    await send(again, collector, [documentOf('after-the-restore')])
    const beyond = await feedAnswer(again, key, { cursor: end })
    assert.deepEqual([beyond.status, beyond.body.code], [410, 'cursor_expired'])
    const page = await feedPage(again, key, { cursor: last })
    assert.deepEqual(
      page.items.map(({ event_type }) => event_type),
      ['document.created'],
    )
    assert.ok(page.items[0]!.sequence > written.at(-1)!.sequence)

    const [artifact] = (await again.consumer(key, 'GET', `/v1/analysis/runs/${run.run_id}/artifacts`)).body.artifacts
    const path = `/v1/analysis/runs/${run.run_id}/artifacts/${artifact.artifact_id}/file`
    const file = await fetch(new URL(path, again.address), { headers: { authorization: `Bearer ${key}` } })
    assert.equal(`sha256:${hash('sha256', new Uint8Array(await file.arrayBuffer()))}`, artifact.checksum)
    assert.equal(artifact.rows, edges.length)
    await until('the search index is made anew', async () => {
      const found = await again.consumer(key, 'POST', '/v1/search', { query: 'harbour', mode: 'vector' })
      return found.body.total >= 20 && !found.body.degraded
    })
    await again.stop()
  })

  test('the admin token that is kept comes with it', async () => {
    const env = { TIDEMARK_ADMIN_TOKEN: '' }
    const server = await startServer({ env })
    const token = /shown only once: (tma_\S+)/.exec(server.stdout)![1]!
    const folder = await backedUp(server)
    await server.stop()
    const dataDir = absentFolder()
    await restored(folder, dataDir)
    const again = await startServer({ dataDir, env })
    assert.doesNotMatch(again.stdout, /tma_/)
    assert.equal((await again.as(token, 'GET', '/admin/v1/datasets')).status, 200)
    await again.stop()
  })

  /** src/operator/restore-backup.test.ts tests all other damages. */
  const damages: [string, RegExp, (folder: string) => void][] = [
    [
      'a flipped bit of the store',
      /damaged: tidemark.sqlite has changed/,
      (folder) => {
        const path = join(folder, 'tidemark.sqlite')
        const bytes = readFileSync(path)
        bytes[bytes.length >> 1]! ^= 1
        writeFileSync(path, bytes)
      },
    ],
    [
      'a missing artifact',
      /damaged: artifacts\/art_\w+.parquet is missing/,
      (folder) => {
        const artifacts = join(folder, 'artifacts')
        rmSync(join(artifacts, readdirSync(artifacts)[0]!))
      },
    ],
  ]

  test('a damaged backup is refused, and nothing is changed', async () => {
    const dataDir = absentFolder()
    await restored(backup, dataDir)
    const untouched = filesOf(dataDir)
    for (const [name, message, damage] of damages) {
      const folder = join(freshFolder(), 'backup')
      cpSync(backup, folder, { recursive: true })
      damage(folder)
      const { code, stderr } = await tidemark(['restore', folder, '--force'], { dataDir })
      assert.equal(code, 1, name)
      assert.match(stderr, message, name)
      assert.deepEqual(filesOf(dataDir), untouched, name)
    }
    const absent = absentFolder()
    assert.equal((await tidemark(['restore', freshFolder()], { dataDir: absent })).code, 1)
    assert.ok(!existsSync(absent))
  })

  test('verify restores where nobody needs it and reads all: a good one is said to be, one that is not fails', async () => {
    const scratch = freshFolder()
    const env = { TMPDIR: scratch }
    const good = await tidemark(['backup', 'verify', backup], { env })
    assert.equal(good.code, 0, good.stderr)
    assert.match(good.stdout, /^good: tidemark-backup-\S+ was restored and read, 20 documents and 20 events of /)
    const places = freshFolder()
    const copy = join(places, basename(backup))
    cpSync(backup, copy, { recursive: true })
    // Rows are missing that the manifest counts, although all checksums are right.
    const raw = new DatabaseSync(join(copy, 'tidemark.sqlite'))
    raw.exec('delete from event where sequence = (select max(sequence) from event)')
    raw.close()
    rewriteManifest(copy)
    const bad = await tidemark(['backup', 'verify', places], { env })
    assert.equal(bad.code, 1)
    assert.match(bad.stderr, /19 rows in event, not 20/)
    assert.deepEqual(readdirSync(scratch), [])
    assert.match((await tidemark(['backup', 'verify', freshFolder()])).stderr, /is not a backup and contains none/)
  })

  test('--every makes one that is due and waits for the next until it is told to end, --keep removes older ones', async () => {
    const into = join(freshFolder(), 'backups')
    const named = (day: string) => `tidemark-backup-2026-01-0${day}T00-00-00Z`
    for (const day of ['1', '2']) cpSync(backup, join(into, named(day)), { recursive: true })
    const note = () => JSON.parse(readFileSync(join(world.server.dataDir, 'backup.json'), 'utf8'))
    const before = note().made_at
    // Times and retries of backups have a unit test. Here nobody waits a minute.
    const running = await startTidemark(['backup', into, '--every', '1m', '--keep', '2'], {
      dataDir: world.server.dataDir,
    })
    await running.printed(new RegExp(`deleted the older backup ${named('1')}[\\s\\S]*next backup at 20`))
    running.signal('SIGTERM')
    assert.equal((await running.ended).code, 0)
    const [kept, made] = readdirSync(into).sort()
    assert.equal(kept, named('2'))
    const { made_at } = JSON.parse(readFileSync(join(into, made!, 'manifest.json'), 'utf8'))
    assert.deepEqual(note(), { made_at, failed_at: null })
    assert.ok(made_at > before)
    // A recent backup delays the next one, also in a process that did not make it.
    const later = await startTidemark(['backup', into, '--every', '4w'], { dataDir: world.server.dataDir })
    await later.printed(/next backup at 20/)
    later.signal('SIGINT')
    assert.equal((await later.ended).code, 0)
    const emptyDir = freshFolder()
    const failing = await startTidemark(['backup', freshFolder(), '--every', '2m'], { dataDir: emptyDir })
    await failing.printed(/there is no store at .*; trying again in 120 s/)
    failing.signal('SIGTERM')
    await failing.ended
    assert.deepEqual(readdirSync(emptyDir), [])
    assert.equal(readdirSync(into).length, 2)
    for (const wrong of [
      ['--every', '0d'],
      ['--every', '30s'],
      ['--keep', 'all'],
    ]) {
      const { code, stderr } = await tidemark(['backup', into, ...wrong])
      assert.deepEqual([code, /It must be a/.test(stderr)], [2, true], stderr)
    }
  })

  test('what is there is replaced only with --force, and never under a running server', async () => {
    const other = await startServer()
    await other.makeDataset('other')
    for (const how of [['--force'], []]) {
      const running = await tidemark(['restore', backup, ...how], { dataDir: other.dataDir })
      assert.equal(running.code, 1)
      assert.match(running.stderr, /is in use: stop the server/)
    }
    assert.deepEqual((await other.mustAdmin('GET', '/admin/v1/datasets')).datasets.length, 1)
    await other.stop()
    const untouched = filesOf(other.dataDir)
    const refused = await tidemark(['restore', backup], { dataDir: other.dataDir })
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /is not empty: .*--force/)
    assert.deepEqual(filesOf(other.dataDir), untouched)

    await restored(backup, other.dataDir, '--force')
    await other.start(world.search.embedding.env)
    assert.equal((await other.consumer(world.key, 'GET', '/v1/account')).status, 200)
    const { datasets } = await other.mustAdmin('GET', '/admin/v1/datasets')
    assert.deepEqual(datasets.map((one: { dataset_id: string }) => one.dataset_id).sort(), ['forum', 'news'])
    await other.stop()
  })

  test('a store that is damaged beyond opening is replaced too, and all is the owner’s of the folder', async () => {
    const dataDir = freshFolder()
    // If root runs the tests, as root may run a restore, another user owns the folder.
    if (process.getuid!() === 0) chownSync(dataDir, nobody, nobody)
    for (const end of ['', '-wal'])
      writeFileSync(join(dataDir, `tidemark.sqlite${end}`), 'not a database '.repeat(1000))
    await restored(backup, dataDir, '--force')
    const { uid } = statSync(dataDir)
    for (const name of readdirSync(dataDir, { recursive: true, encoding: 'utf8' })) {
      assert.equal(statSync(join(dataDir, name)).uid, uid, name)
    }
    const { code, stdout } = await tidemark(['doctor'], { dataDir })
    assert.equal(code, 0, stdout)
    assert.match(stdout, /datasets: 2/)
  })

  test('without a store, or with one that is not a file, both say what to do', async () => {
    const into = freshFolder()
    const none = await tidemark(['backup', into], { dataDir: absentFolder() })
    assert.equal(none.code, 1)
    assert.match(none.stderr, /there is no store at .*: set TIDEMARK_DATA_DIR/)
    assert.deepEqual(readdirSync(into), [])
    const env = { TIDEMARK_DATABASE_URL: 'postgres://127.0.0.1/tidemark' }
    for (const [args, tool] of [
      [['backup', into], 'pg_dump'],
      [['restore', backup], 'pg_restore'],
    ] as const) {
      const { code, stderr } = await tidemark(args, { env })
      assert.equal(code, 2)
      assert.match(stderr, new RegExp(`PostgreSQL, .* use ${tool}`))
    }
  })
})
