import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type ChangeLog, type ChangePage, type ChangeQuery, plainEventTypes } from './change-log.ts'
import { readAhead } from './read-ahead.ts'

/** Events 1 to `newest`, one number each. */
class Log implements Pick<ChangeLog, 'read'> {
  newest = 100
  failing = false
  reads: (number | null)[] = []

  async read({ after, limit }: ChangeQuery): Promise<ChangePage> {
    this.reads.push(after)
    if (this.failing) throw new Error('gone')
    const from = after ?? 0
    const position = Math.min(this.newest, from + limit)
    const numbers = Array.from({ length: Math.max(0, position - from) }, (_, i) => from + 1 + i)
    return { text: numbers.join(), count: numbers.length, position, atEnd: position >= this.newest, removedThrough: 0 }
  }
}

const query = (after: number | null, datasets: readonly string[] = ['d']): ChangeQuery => ({
  after,
  limit: 10,
  scanMax: 1000,
  allowed: [{ datasets, platforms: null }],
  eventTypes: plainEventTypes,
  ingestedFrom: null,
  ingestedTo: null,
})

let nowMs = 0
const clock = () => nowMs

suite('reading ahead', () => {
  test('a page that nobody came for at once is read again: of what is erased it may tell less by now', async () => {
    const log = new Log()
    const pages = readAhead(log, clock)
    await pages.read(query(10))
    nowMs += 1001
    await pages.read(query(20))
    assert.deepEqual(log.reads, [10, 20, 20, 30])
  })

  test('gives the pages that reading gives, each read once', async () => {
    const log = new Log()
    const pages = readAhead(log, clock)
    let text = ''
    for (let after: number | null = null; ; ) {
      const page = await pages.read(query(after))
      text += `${page.text},`
      after = page.position
      if (page.atEnd) break
    }
    assert.equal(text, `${Array.from({ length: 100 }, (_, i) => i + 1).join()},`)
    assert.deepEqual(log.reads, [null, 10, 20, 30, 40, 50, 60, 70, 80, 90])
  })

  test('has the next page under way before it is asked for, from the second on', async () => {
    const log = new Log()
    const pages = readAhead(log, clock)
    await pages.read(query(null))
    assert.deepEqual(log.reads, [null])
    await pages.read(query(10))
    assert.deepEqual(log.reads, [null, 10, 20])
  })

  test('a page that was not full is read again, with what has come since', async () => {
    const log = new Log()
    log.newest = 25
    const pages = readAhead(log, clock)
    await pages.read(query(10))
    log.newest = 40
    assert.equal((await pages.read(query(20))).text, '21,22,23,24,25,26,27,28,29,30')
  })

  test('other entitlements and other limits never get a page that was read for these', async () => {
    const log = new Log()
    const pages = readAhead(log, clock)
    await pages.read(query(10))
    await pages.read(query(20, ['e']))
    await pages.read({ ...query(20), limit: 5 })
    assert.deepEqual(
      log.reads.filter((after) => after === 20),
      [20, 20, 20],
    )
  })

  test('a failure ahead is forgotten, one now is told', async () => {
    const log = new Log()
    const pages = readAhead(log, clock)
    const first = pages.read(query(10))
    await Promise.resolve()
    log.failing = true
    await first
    await assert.rejects(pages.read(query(20)), /gone/)
    log.failing = false
    assert.equal((await pages.read(query(20))).count, 10)
  })

  test('keeps no more than some pages', async () => {
    const log = new Log()
    log.newest = 1_000_000
    const pages = readAhead(log, clock)
    for (let i = 0; i < 100; i++) await pages.read(query(i * 1000 + 1))
    log.reads = []
    await pages.read(query(11))
    assert.ok(log.reads.includes(11), 'the oldest was kept')
    log.reads = []
    await pages.read(query(99_011))
    assert.deepEqual(log.reads, [99_021])
  })
})
