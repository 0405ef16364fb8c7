import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, suite, test } from 'node:test'
import { type Process, SharedIndex } from '../../test/support/shared-index.ts'
import { until } from '../../test/support/until.ts'
import type { OpenStore } from '../storage/open-store.ts'
import { openSqliteStore } from '../storage/sqlite/open-sqlite-store.ts'

/** The process that leads each election, as a test sets it. */
type Leaders = Record<'vectors' | 'feeding', string | null>

suite('an index that one process feeds for all', () => {
  let folder: string
  let open: OpenStore
  let all: SharedIndex
  let leaders: Leaders
  /** The elections that a process lost, as `a feeding`. A process asks only between two steps. */
  let lost: Set<string>
  let started: Process[]

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'fed-by-one-'))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))
  beforeEach(async () => {
    open = await openSqliteStore(mkdtempSync(join(folder, 'data-')))
    all = await SharedIndex.over(open.store)
    leaders = { vectors: 'a', feeding: 'a' }
    lost = new Set()
    started = []
  })
  afterEach(async () => {
    for (const { indexing } of started) await indexing.stop()
    await all.close()
    await open.close()
  })

  async function start(name: string): Promise<Process> {
    const process = await all.start(open, async (election) => {
      const isLeader = leaders[election] === name
      if (!isLeader) lost.add(`${name} ${election}`)
      return isLeader
    })
    started.push(process)
    return process
  }

  async function pass(to: string): Promise<void> {
    const from = leaders.feeding
    leaders = { vectors: to, feeding: to }
    lost.clear()
    await until('it has noticed that it is not the leader any more', () => lost.has(`${from} feeding`))
  }

  test('the leader feeds words and vectors, the others only read the position', async () => {
    await all.send(150)
    const [a, b] = [await start('a'), await start('b')]
    await all.untilComplete()
    assert.ok(a.batches > 0 && a.vectors >= 150)
    assert.deepEqual([b.batches, b.vectors], [0, 0])
  })

  test('when the leader stops half-way, another one continues: nothing is missed or indexed twice', async () => {
    await all.send(300)
    let a: Process | null = null
    a = await all.start(open, async (election) => leaders[election] === 'a' && (a?.batches ?? 0) < 1)
    const b = await start('b')
    await until('the first batch is fed', () => a.batches === 1)
    await a.indexing.stop()
    const { documents } = await all.index.health()
    assert.ok(documents > 0 && documents < 300, `${documents} were fed`)
    assert.equal(b.batches, 0)
    leaders = { vectors: 'b', feeding: 'b' }
    await all.send(20)
    await all.untilComplete()
    assert.ok(b.batches > 0)
  })

  test('a former leader leaves the index to the new one, and can become leader again', async () => {
    const [a, b] = [await start('a'), await start('b')]
    await all.send(70)
    await all.untilComplete()
    await pass('b')
    const batchesOfA = a.batches
    await all.send(70)
    await all.untilComplete()
    assert.deepEqual([a.batches, b.batches > 0], [batchesOfA, true])
    await pass('a')
    const batchesOfB = b.batches
    await all.send(70)
    await all.untilComplete()
    assert.deepEqual([a.batches > batchesOfA, b.batches], [true, batchesOfB])
  })

  test('if two processes believe that they are the leader, the index still has everything once', async () => {
    const both = async () => true
    started.push(await all.start(open, both), await all.start(open, both))
    await all.send(200)
    await all.untilComplete()
    await all.send(50)
    await all.untilComplete()
  })

  test('vectors that another process makes are indexed by the leader', async () => {
    leaders = { vectors: 'b', feeding: 'a' }
    const [a, b] = [await start('a'), await start('b')]
    await all.send(100)
    await all.untilComplete()
    assert.deepEqual([b.batches, b.vectors], [0, 0])
    assert.ok(a.vectors >= 100)
    // The next leader finds documents that were added while no process fed the index.
    leaders.feeding = null
    await all.send(30)
    leaders.feeding = 'c'
    const c = await start('c')
    await all.untilComplete()
    assert.ok(c.batches > 0)
  })

  test('only the leader empties an index that cannot be continued', async () => {
    await all.index.apply({ position: 1000, changes: [] })
    leaders.feeding = null
    const a = await start('a')
    await all.send(10)
    a.indexing.wake()
    assert.deepEqual([a.cleared, (await all.index.health()).position], [0, 1000])
    leaders.feeding = 'b'
    const b = await start('b')
    await all.untilComplete()
    assert.deepEqual([a.cleared, b.cleared], [0, 1])
  })

  test('all processes know whether documents are missing, whichever process feeds the index', async () => {
    await all.send(150)
    leaders.feeding = null
    const b = await start('b')
    assert.equal(b.indexing.isRefilling, true)
    leaders.feeding = 'a'
    const a = await start('a')
    await all.untilComplete()
    await until('the other process sees it', () => !b.indexing.isRefilling)
    assert.equal(a.indexing.isRefilling, false)
    // Later documents do not count.
    await all.send(5)
    assert.deepEqual([a.indexing.isRefilling, b.indexing.isRefilling], [false, false])
    await all.untilComplete()
    assert.equal((await start('c')).indexing.isRefilling, false)
    // No process feeds the index for a while, so that its emptying can be observed.
    leaders.feeding = null
    await a.indexing.stop()
    await all.index.clear()
    await until('an emptied index is seen', () => b.indexing.isRefilling)
    leaders.feeding = 'd'
    await start('d')
    await all.untilComplete()
    await until('it is complete again', () => !b.indexing.isRefilling)
  })
})
