import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, suite, test } from 'node:test'
import { OneIndexForAll, type Process } from '../../test/support/one-index-for-all.ts'
import { until } from '../../test/support/until.ts'
import type { OpenStore } from '../storage/open-store.ts'
import { openSqliteStore } from '../storage/sqlite/open-sqlite-store.ts'

/** The process that leads each election, as a test sets it. */
type Leaders = Record<'vectors' | 'feeding', string | null>

suite('an index that one process feeds for all', () => {
  let folder: string
  let open: OpenStore
  let all: OneIndexForAll
  let leaders: Leaders
  /** The elections that a process lost, as `a feeding`. A process that feeds has no step under way when it asks. */
  let refused: Set<string>
  let started: Process[]

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'fed-by-one-'))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))
  beforeEach(async () => {
    open = await openSqliteStore(mkdtempSync(join(folder, 'data-')))
    all = await OneIndexForAll.over(open.store)
    leaders = { vectors: 'a', feeding: 'a' }
    refused = new Set()
    started = []
  })
  afterEach(async () => {
    for (const { indexing } of started) await indexing.stop()
    await all.close()
    await open.close()
  })

  async function start(name: string): Promise<Process> {
    const process = await all.start(open, async (election) => {
      const isHis = leaders[election] === name
      if (!isHis) refused.add(`${name} ${election}`)
      return isHis
    })
    started.push(process)
    return process
  }

  async function pass(to: string): Promise<void> {
    const from = leaders.feeding
    leaders = { vectors: to, feeding: to }
    refused.clear()
    await until('it knows that it does not feed any more', () => refused.has(`${from} feeding`))
  }

  test('the elected one feeds words and vectors, the others only look', async () => {
    await all.send(150)
    const [a, b] = [await start('a'), await start('b')]
    await all.whole()
    assert.ok(a.batches > 0 && a.vectors >= 150)
    assert.deepEqual([b.batches, b.vectors], [0, 0])
  })

  test('when it stops in the middle another one goes on: nothing is missed, nothing twice', async () => {
    await all.send(300)
    let a: Process | null = null
    a = await all.start(open, async (election) => leaders[election] === 'a' && (a?.batches ?? 0) < 1)
    const b = await start('b')
    await until('it is in the middle', () => a.batches === 1)
    await a.indexing.stop()
    const { documents } = await all.index.health()
    assert.ok(documents > 0 && documents < 300, `${documents} were fed`)
    assert.equal(b.batches, 0)
    leaders = { vectors: 'b', feeding: 'b' }
    await all.send(20)
    await all.whole()
    assert.ok(b.batches > 0)
  })

  test('one that is not elected any more leaves the index to the one that is, and takes it back', async () => {
    const [a, b] = [await start('a'), await start('b')]
    await all.send(70)
    await all.whole()
    await pass('b')
    const ofA = a.batches
    await all.send(70)
    await all.whole()
    assert.deepEqual([a.batches, b.batches > 0], [ofA, true])
    await pass('a')
    const ofB = b.batches
    await all.send(70)
    await all.whole()
    assert.deepEqual([a.batches > ofA, b.batches], [true, ofB])
  })

  test('for a moment two take themselves for elected: the index has everything once', async () => {
    const both = async () => true
    started.push(await all.start(open, both), await all.start(open, both))
    await all.send(200)
    await all.whole()
    await all.send(50)
    await all.whole()
  })

  test('vectors that another process makes than the one that feeds come into the index all the same', async () => {
    leaders = { vectors: 'b', feeding: 'a' }
    const [a, b] = [await start('a'), await start('b')]
    await all.send(100)
    await all.whole()
    assert.deepEqual([b.batches, b.vectors], [0, 0])
    assert.ok(a.vectors >= 100)
    // The next leader finds documents that were added while no process fed the index.
    leaders.feeding = null
    await all.send(30)
    leaders.feeding = 'c'
    const c = await start('c')
    await all.whole()
    assert.ok(c.batches > 0)
  })

  test('only the one that feeds empties an index that cannot be gone on from', async () => {
    await all.index.apply({ position: 1000, changes: [] })
    leaders.feeding = null
    const a = await start('a')
    await all.send(10)
    a.indexing.wake()
    assert.deepEqual([a.cleared, (await all.index.health()).position], [0, 1000])
    leaders.feeding = 'b'
    const b = await start('b')
    await all.whole()
    assert.deepEqual([a.cleared, b.cleared], [0, 1])
  })

  test('all of them know whether the index still lacks documents, whichever process feeds it', async () => {
    await all.send(150)
    leaders.feeding = null
    const b = await start('b')
    assert.equal(b.indexing.isRefilling, true)
    leaders.feeding = 'a'
    const a = await start('a')
    await all.whole()
    await until('the other one sees it', () => !b.indexing.isRefilling)
    assert.equal(a.indexing.isRefilling, false)
    // Later documents do not count.
    await all.send(5)
    assert.deepEqual([a.indexing.isRefilling, b.indexing.isRefilling], [false, false])
    await all.whole()
    assert.equal((await start('c')).indexing.isRefilling, false)
    // No process feeds the index for a while, so that its emptying can be observed.
    leaders.feeding = null
    await a.indexing.stop()
    await all.index.clear()
    await until('an emptied index is seen', () => b.indexing.isRefilling)
    leaders.feeding = 'd'
    await start('d')
    await all.whole()
    await until('it is whole again', () => !b.indexing.isRefilling)
  })
})
