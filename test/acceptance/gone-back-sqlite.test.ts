import assert from 'node:assert/strict'
import { cpSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { until } from '../support/until.ts'
import { backedUp, markedThrough, restored } from './backups.ts'
import { documentOf, feedAnswer, feedPage, send, wholeFeed } from './content.ts'
import { freshFolder, startServer, type TestServer, tidemark } from './harness.ts'

const documents = (name: string, count: number) => Array.from({ length: count }, (_, i) => documentOf(`${name}-${i}`))

/** A store that is rolled back to an earlier state uses positions again that its readers have passed. */
suite('a store that went back in time', () => {
  let server: TestServer
  let collector: string
  let reader: string
  const copyOfReader = join(freshFolder(), 'copy.sqlite')

  before(async () => {
    server = await startServer()
    await server.makeDataset('news')
    collector = (await server.makeCollector()).key
    reader = (await server.makeApplication({ entitlements: [{ datasets: ['news'] }] })).key
    await send(server, collector, documents('kept', 10))
  })

  const mirror = (...flags: string[]) =>
    tidemark(['mirror', '--url', server.address, '--to', copyOfReader, ...flags], {
      env: { TIDEMARK_KEY: reader },
    })

  const exported = async (): Promise<string[]> => {
    const { text } = await server.consumer(reader, 'GET', '/v1/export')
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    return lines.filter(({ type }) => type === 'document').map(({ document }) => document.external_id)
  }

  test('put back as a whole folder: cursors of the lost time are 410, those from before go on', async () => {
    await server.stop()
    const copy = freshFolder()
    cpSync(server.dataDir, copy, { recursive: true })
    await server.start()
    const { cursor: early } = await wholeFeed(server, reader)
    const held = (await feedPage(server, reader, { limit: 5 })).next_cursor
    await send(server, collector, documents('lost', 20))
    const { cursor: late } = await wholeFeed(server, reader)
    const inTheMiddle = (await feedPage(server, reader, { cursor: early, limit: 7 })).next_cursor
    const { text } = await server.consumer(reader, 'GET', '/v1/export?limit=1')
    const [start, , checkpoint] = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const latest = (await feedPage(server, reader, { start: 'latest' })).next_cursor
    assert.equal((await mirror('--once')).code, 0)

    await server.stop()
    rmSync(server.dataDir, { recursive: true })
    cpSync(copy, server.dataDir, { recursive: true })
    await server.start()
    // First after the end of the feed, and then among the events that came since.
    assert.equal((await feedAnswer(server, reader, { cursor: late })).status, 410)
    await send(server, collector, documents('new', 25))

    for (const cursor of [late, inTheMiddle, latest]) {
      const answer = await feedAnswer(server, reader, { cursor, limit: 200 })
      assert.deepEqual([answer.status, answer.body.code], [410, 'cursor_expired'], answer.text)
      assert.match(answer.body.message, /rolled back to an earlier state.*GET \/v1\/export/)
    }
    const types = 'document.created,document.version.created,document.metrics.updated,document.updated,document.erased'
    const handedOver = await feedAnswer(server, reader, { cursor: start.changes_cursor, event_type: types })
    assert.equal(handedOver.status, 410, handedOver.text)
    const resumed = await server.consumer(reader, 'GET', `/v1/export?cursor=${checkpoint.cursor}`)
    assert.deepEqual([resumed.status, resumed.body.code], [410, 'cursor_expired'])

    assert.equal((await feedPage(server, reader, { cursor: early, limit: 200 })).items.length, 25)
    assert.equal((await feedPage(server, reader, { cursor: held, limit: 200 })).items.length, 30)
    const all = await exported()
    assert.equal(all.length, 35)
    assert.equal(all.filter((one) => one.startsWith('new-')).length, 25)
    const verified = await mirror('--verify')
    assert.equal(verified.code, 0, verified.stderr)
    assert.match(verified.stderr, /starting over: the service was rolled back to an earlier state/)
    assert.match(verified.stdout, /^equal: 35 documents$/m)
  })

  const found = async (query: string): Promise<string[]> => {
    const { body } = await server.consumer(reader, 'POST', '/v1/search', { query, limit: 100 })
    return body.results.map(({ title }: { title: string }) => title).sort()
  }
  const indexed = () =>
    until('the index has all', async () => (await server.mustAdmin('GET', '/admin/v1/indexing')).pending_chunks === 0)

  const storeDetail = async (): Promise<string> => {
    // The process is not ready until the rebuilt index has all documents.
    await until('it is ready', async () => (await server.call('GET', '/readyz')).status === 200)
    return (await server.call('GET', '/readyz')).body.checks.store.detail
  }

  const lostTimeIsSaid = async (): Promise<void> => {
    assert.match(await storeDetail(), /the store was found to have gone back in time/)
    const said = server.logs.filter(({ msg }) => /rolled back to an earlier state/.test(String(msg)))
    assert.equal(said.length, 1, server.stderr)
    const { stdout, code } = await server.tidemark(['doctor'])
    assert.equal(code, 0, stdout)
    assert.match(stdout, /note {2}.*the store was found to have gone back in time/)
  }

  test('the file of the store alone is put back: it is noticed and said, no position is given out twice', async () => {
    await server.stop()
    const [store, copy] = [join(server.dataDir, 'tidemark.sqlite'), join(freshFolder(), 'store')]
    cpSync(store, copy)
    await server.start()
    const { cursor: early } = await wholeFeed(server, reader)
    await send(server, collector, documents('gone', 20))
    const { cursor: late, events } = await wholeFeed(server, reader)
    await server.stop()
    cpSync(copy, store)
    const before = await server.tidemark(['doctor'])
    assert.equal(before.code, 1, before.stdout)
    assert.match(before.stdout, /FAIL {2}the store has gone back in time since it was last served: its last event was/)

    await server.start()
    await lostTimeIsSaid()
    await send(server, collector, documents('again', 25))
    const page = await feedPage(server, reader, { cursor: early, limit: 200 })
    assert.equal(page.items.length, 25)
    assert.ok(page.items[0]!.sequence > events.at(-1)!.sequence)
    const answer = await feedAnswer(server, reader, { cursor: late })
    assert.deepEqual([answer.status, answer.body.code], [410, 'cursor_expired'])
    await indexed()
    assert.equal((await found('again')).length, 25)
    assert.deepEqual(await found('gone'), [])
    // Logged once. After a restart the status still shows it, and positions continue.
    await server.restart()
    assert.match(await storeDetail(), /gone back in time/)
    assert.equal(server.logs.filter(({ msg }) => /rolled back to an earlier state/.test(String(msg))).length, 0)
    await send(server, collector, documents('later', 1))
    const [next, ...more] = (await feedPage(server, reader, { cursor: page.next_cursor })).items
    assert.deepEqual([next!.sequence, more.length], [page.items.at(-1)!.sequence + 1, 0])
  })

  test('a write-ahead log that is deleted after kill -9 is noticed the same way', async () => {
    // An orderly shutdown moves the log into the file, so that the log has only later writes.
    await server.restart()
    const { cursor: early } = await wholeFeed(server, reader)
    // In the second round the log contains the first loss too, and the positions that it skipped.
    for (const round of ['one', 'two']) {
      await send(server, collector, documents(`lost-${round}`, 23))
      const { cursor: late, events } = await wholeFeed(server, reader)
      await markedThrough(server, events.at(-1)!.sequence)
      await server.kill9()
      rmSync(join(server.dataDir, 'tidemark.sqlite-wal'))
      await server.start()
      await lostTimeIsSaid()
      const answer = await feedAnswer(server, reader, { cursor: late })
      assert.deepEqual([answer.status, answer.body.code], [410, 'cursor_expired'])
      await send(server, collector, documents(`new-${round}`, 25))
      const { items } = await feedPage(server, reader, { cursor: early, limit: 200 })
      assert.equal(items.length, 25)
      assert.ok(items[0]!.sequence > events.at(-1)!.sequence)
      await indexed()
      assert.equal((await found(round)).length, 25)
    }
  })

  test('without the mark the search index tells it, as far as it was fed', async () => {
    await server.stop()
    const [store, copy] = [join(server.dataDir, 'tidemark.sqlite'), join(freshFolder(), 'store')]
    cpSync(store, copy)
    await server.start()
    await send(server, collector, documents('indexed', 5))
    await indexed()
    const { events } = await wholeFeed(server, reader)
    await server.stop()
    cpSync(copy, store)
    rmSync(join(server.dataDir, 'history.json'))
    await server.start()
    await lostTimeIsSaid()
    assert.match(await storeDetail(), /the search index has revision/)
    await send(server, collector, documents('unmarked', 1))
    assert.ok((await wholeFeed(server, reader)).events.at(-1)!.sequence > events.at(-1)!.sequence)
  })

  test('who was erased in the lost time stays erased, and a key that was revoked then stays revoked', async () => {
    const doomed = await server.makeApplication({ entitlements: [{ datasets: ['news'] }] })
    const [person] = await send(server, collector, [documentOf('person')])
    await server.stop()
    const [store, copy] = [join(server.dataDir, 'tidemark.sqlite'), join(freshFolder(), 'store')]
    cpSync(store, copy)
    await server.start()
    const { erasure_id: erasureId } = await server.mustAdmin('DELETE', `/admin/v1/documents/${person!.document_id}`)
    const erasure = () => server.mustAdmin('GET', `/admin/v1/erasures/${erasureId}`)
    await server.mustAdmin('POST', `/admin/v1/keys/${doomed.keyId}/revoke`)
    await until('the erasure is completed', async () => (await erasure()).status === 'completed')
    const record = join(server.dataDir, 'artifacts', 'removals')
    await until('the record has the key', () =>
      readdirSync(record, { recursive: true, encoding: 'utf8' }).some((name) => name.includes(doomed.keyId)),
    )
    await server.stop()
    cpSync(copy, store)

    await server.start()
    await lostTimeIsSaid()
    assert.equal((await server.consumer(doomed.key, 'GET', '/v1/account')).status, 401)
    const ids = { document_ids: [person!.document_id] }
    const read = await server.consumer(reader, 'POST', '/v1/documents/batch-get', ids)
    assert.deepEqual(read.body.missing, ids.document_ids)
    await until('it is completed again', async () => (await erasure()).status === 'completed')
    const [again] = await send(server, collector, [documentOf('person')])
    assert.equal(again!.outcome, 'erased')
  })

  test('a backup that is restored on purpose is no loss, and what had read beyond it starts over', async () => {
    const folder = await backedUp(server)
    await send(server, collector, documents('after-the-backup', 3))
    const { cursor: late, events } = await wholeFeed(server, reader)
    await markedThrough(server, events.at(-1)!.sequence)
    const lossBefore = await storeDetail()
    await server.stop()
    await restored(folder, server.dataDir, '--force')
    await server.start()
    assert.equal(server.logs.filter(({ msg }) => /rolled back to an earlier state/.test(String(msg))).length, 0)
    assert.equal(await storeDetail(), lossBefore)
    assert.equal((await feedAnswer(server, reader, { cursor: late })).status, 410)
  })
})
