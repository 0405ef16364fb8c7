import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { until } from '../support/until.ts'
import { documentOf, feedAnswer, feedPage, send, wholeFeed } from './content.ts'
import { startServer, type TestServer, tidemark } from './harness.ts'

const dayMs = 86_400_000

/** What becomes of cursors with time: restarts, rotated keys, and the end of what is kept. */
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

  /** Settings under which a server lives some days later. Node reads the module before anything of ours. */
  const daysLater = (days: number): Record<string, string> => ({
    NODE_OPTIONS: `--import data:text/javascript,const{now}=Date;Date.now=()=>now()+${days * dayMs}`,
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
    /** The key is the first that a cursor names; all else about it is the server's own business. */
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
    // Retention runs on its own when the server starts.
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
    // Two days old, and at a position after which nothing was removed: still good.
    const [left, ...more] = (await feedPage(server, quota, { cursor: recentEnd })).items
    assert.deepEqual(more, [])
    assert.deepEqual((await feedPage(server, quota)).items, [left])
    // Sequences go on; what is gone is never given out again.
    const before = left!.sequence
    await send(server, collector, [documentOf('after-retention')])
    assert.ok((await feedPage(server, quota, { cursor: recentEnd })).items.at(-1)!.sequence > before)
  })
})
