import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { until } from '../support/until.ts'
import { documentOf, feedAnswer, feedPage, send, wholeFeed } from './content.ts'
import { daysLater, startServer, type TestServer, tidemark } from './harness.ts'
import { operate } from './store-surgery.ts'

const dayMs = 86_400_000

/** Cursors over time: restarts, rotated keys, and the end of retention. */
describe('cursors over time', () => {
  let server: TestServer
  let collector: string
  let reader: string

  after(() => server.stop())
  before(async () => {
    server = await startServer()
    await server.makeDataset('news')
    collector = (await server.makeCollector()).key
    reader = (await server.makeApplication({ entitlements: [{ datasets: ['news'] }] })).key
    await send(
      server,
      collector,
      Array.from({ length: 30 }, (_, i) => documentOf(`d${i}`)),
    )
  })

  test('a cursor outlives a restart and a kill', async () => {
    const { next_cursor: cursor, items } = await feedPage(server, reader, { limit: 10 })
    assert.equal(items.length, 10)
    const page = await feedPage(server, reader, { limit: 10, cursor })
    await server.restart()
    assert.deepEqual((await feedPage(server, reader, { limit: 10, cursor })).items, page.items)
    await server.kill9()
    await server.start()
    assert.deepEqual((await feedPage(server, reader, { limit: 10, cursor })).items, page.items)
  })

  test('a rotated key: old cursors stay good, and the server that runs learns to sign with the new one', async () => {
    const { next_cursor: old } = await feedPage(server, reader, { limit: 10 })
    const next = await feedPage(server, reader, { limit: 10, cursor: old })
    /** A cursor starts with its key. Everything else in it is internal. */
    const keyOf = (cursor: string) => Buffer.from(cursor, 'base64url').toString('latin1').slice(0, 30)
    const rotated = await server.tidemark(['cursor-key', 'rotate'])
    assert.equal(rotated.code, 0, rotated.stderr)
    assert.deepEqual((await feedPage(server, reader, { limit: 10, cursor: old })).items, next.items)
    let signed = next.next_cursor
    await until('the new key signs', async () => {
      signed = (await feedPage(server, reader, { limit: 10, cursor: old })).next_cursor
      return keyOf(signed) !== keyOf(old)
    })
    const last = await feedPage(server, reader, { limit: 10, cursor: signed })
    assert.deepEqual(last.items, (await feedPage(server, reader, { limit: 10, cursor: next.next_cursor })).items)
    await server.restart()
    for (const cursor of [signed, next.next_cursor]) {
      assert.deepEqual((await feedPage(server, reader, { limit: 10, cursor })).items, last.items)
    }
  })

  test('dropped keys: every cursor signed by them is refused soon', async () => {
    const { next_cursor: old } = await feedPage(server, reader, { limit: 10 })
    assert.equal((await server.tidemark(['cursor-key', 'rotate', '--drop-old'])).code, 0)
    await until('the old key is dropped', async () => {
      const { status, body } = await feedAnswer(server, reader, { limit: 10, cursor: old })
      if (status === 400) assert.equal(body.code, 'invalid_cursor')
      return status === 400
    })
    const { next_cursor } = await feedPage(server, reader, { limit: 10 })
    assert.equal((await feedPage(server, reader, { limit: 10, cursor: next_cursor })).items.length, 10)
  })

  test('410: a cursor older than what is kept, and one whose events retention has removed', async () => {
    const quota = (
      await server.makeApplication({
        entitlements: [{ datasets: ['news'] }],
        policy: { daily_quotas: { changes: 1000 } },
      })
    ).key
    const early = (await feedPage(server, quota, { limit: 10 })).next_cursor
    const { text: part } = await server.consumer(quota, 'GET', '/v1/export?limit=1')
    const { cursor: halfway } = JSON.parse(part.trimEnd().split('\n').at(-1)!)
    await send(server, collector, [documentOf('during-the-export')])
    const { cursor: end } = await wholeFeed(server, quota)
    const mirror = (...flags: string[]) =>
      tidemark(['mirror', '--url', server.address, '--to', join(server.dataDir, 'copy.sqlite'), ...flags], {
        env: { TIDEMARK_KEY: quota },
      })
    assert.equal((await mirror('--once')).code, 0)

    await server.restart(daysLater(29))
    assert.equal((await feedPage(server, quota, { cursor: early, limit: 10 })).items.length, 10)
    const recent = (await feedPage(server, quota, { limit: 10 })).next_cursor
    const recentEnd = (await feedPage(server, quota, { cursor: end })).next_cursor
    await send(server, collector, [documentOf('a-month-later')])

    await server.restart(daysLater(31))
    // After a month without a run, an operator must confirm the clock.
    assert.equal((await server.tidemark(['clock', 'confirm'])).code, 0)
    // Retention runs by itself.
    await until('retention has come', async () => (await wholeFeed(server, quota)).events.length === 1)
    const usedBefore = (await server.consumer(quota, 'GET', '/v1/account')).body
    for (const cursor of [early, end, recent]) {
      const answer = await feedAnswer(server, quota, { cursor })
      assert.equal(answer.status, 410)
      assert.equal(answer.body.code, 'cursor_expired')
      assert.match(answer.body.message, /GET \/v1\/export/)
      assert.deepEqual(answer.body.details, [{ path: 'cursor', message: 'is too old: start over with GET /v1/export' }])
    }
    const { earliest_ingested_at, feed_retained_from } = usedBefore
    const keptDays = (Date.parse(feed_retained_from) - Date.parse(earliest_ingested_at)) / 86_400_000
    assert.ok(keptDays > 0 && keptDays < 1.5, `31 days later all is kept from ${keptDays} days after the beginning on`)
    const resumed = await server.consumer(quota, 'GET', `/v1/export?cursor=${halfway}`)
    assert.deepEqual([resumed.status, resumed.body.code], [410, 'cursor_expired'])
    assert.deepEqual(
      (await server.consumer(quota, 'GET', '/v1/account')).body.usage?.['changes.read'],
      usedBefore.usage?.['changes.read'],
    )
    const { code, stdout, stderr } = await mirror('--verify')
    assert.equal(code, 0, stderr)
    assert.match(stderr, /starting over: events are kept for 30 days/)
    assert.match(stdout, /^equal: \d+ documents$/m)
    // Two days old, at a position after which nothing was removed: still valid.
    const [left, ...more] = (await feedPage(server, quota, { cursor: recentEnd })).items
    assert.deepEqual(more, [])
    assert.deepEqual((await feedPage(server, quota)).items, [left])
    // Sequences continue, and removed numbers are never used again.
    const before = left!.sequence
    await send(server, collector, [documentOf('after-retention')])
    assert.ok((await feedPage(server, quota, { cursor: recentEnd })).items.at(-1)!.sequence > before)
  })

  test('events that are too old are gone before the job has removed them', async () => {
    const cursor = (await feedPage(server, reader, { start: 'latest' })).next_cursor
    await send(
      server,
      collector,
      [1, 2, 3, 4].map((i) => documentOf(`aged-${i}`)),
    )
    const { items } = await feedPage(server, reader, { cursor })
    const second = (await feedPage(server, reader, { cursor, limit: 2 })).next_cursor
    const { text } = await server.consumer(reader, 'GET', '/v1/export?limit=1')
    const halfway = JSON.parse(text.trimEnd().split('\n').at(-1)!).cursor
    await send(server, collector, [documentOf('aged-5')])
    const last = (await feedPage(server, reader, { cursor: second, limit: 3 })).items.at(-1)!
    const old = `update event set ingested_at = ingested_at - ${31 * dayMs} where sequence`
    await operate(server, `${old} <= ${items[1]!.sequence}`)
    for (const start of [{}, { start: 'earliest' }]) {
      await until('they are gone', async () => (await feedPage(server, reader, start)).items.length === 3)
      assert.deepEqual((await feedPage(server, reader, start)).items, [items[2], items[3], last])
    }
    const expired = await feedAnswer(server, reader, { cursor })
    assert.deepEqual([expired.status, expired.body.code], [410, 'cursor_expired'])
    assert.deepEqual((await feedPage(server, reader, { cursor: second })).items, [items[2], items[3], last])
    assert.deepEqual((await feedPage(server, reader, { start: 'latest' })).items, [])

    assert.equal((await server.consumer(reader, 'GET', `/v1/export?cursor=${halfway}`)).status, 200)
    await operate(server, `${old} > ${items[1]!.sequence}`)
    assert.equal((await server.consumer(reader, 'GET', `/v1/export?cursor=${halfway}`)).status, 410)
    await until('all are gone', async () => (await feedPage(server, reader)).items.length === 0)
  })
})
