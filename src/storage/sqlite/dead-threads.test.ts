import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { PoolEvents } from '../../../test/support/pool-events.ts'
import { startedThreads, threadsNamed } from '../../../test/support/started-threads.ts'
import { TidemarkError } from '../../platform/errors.ts'
import type { OpenStore } from '../open-store.ts'
import { openSqliteStore } from './open-sqlite-store.ts'

async function withStore(work: (open: OpenStore, events: PoolEvents) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-dead-'))
  const events = new PoolEvents()
  try {
    const open = await openSqliteStore(folder, { watch: events })
    try {
      await work(open, events)
    } finally {
      await open.close()
    }
    assert.deepEqual(startedThreads, [])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const put = (datasetId: string) => ({ kind: 'dataset.put', datasetId, name: 'x', description: null }) as const
const mark = { actor: 'test', at: 1 }
const commit = ({ store }: OpenStore, datasetId: string) => store.operator.commit([put(datasetId)], mark)
const datasets = async ({ store }: OpenStore) => (await store.operator.datasets()).map(({ datasetId }) => datasetId)

function isUnavailable(reason: unknown): true {
  assert.ok(reason instanceof TidemarkError && reason.code === 'store_unavailable', String(reason))
  return true
}

test('when a reader exits, its calls can be retried, other calls succeed, and a new reader replaces it', async () => {
  await withStore(async (open, events) => {
    await commit(open, 'a')
    for (let round = 0; round < 3; round++) {
      const reads = Array.from({ length: 200 }, () => datasets(open))
      const results = Promise.allSettled(reads)
      await threadsNamed('store reader')[0]!.terminate()
      const lost = (await results).flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
      assert.ok(lost.length <= 2, `${lost.length} calls were lost`)
      for (const reason of lost) isUnavailable(reason)
      for (let i = 0; i < 20; i++) assert.deepEqual(await datasets(open), ['a'])
    }
    assert.deepEqual(events.exits, ['store-readers', 'store-readers', 'store-readers'])
  })
})

test('when the writer exits, its transaction is rolled back, a new writer takes the waiting calls, and reads continue', async () => {
  await withStore(async (open, events) => {
    await commit(open, 'before')
    for (let round = 0; round < 3; round++) {
      const names = Array.from({ length: 100 }, (_, i) => `r${round}-${i}`)
      const results = Promise.allSettled(names.map((name) => commit(open, name)))
      const exit = events.nextExit('store-writer')
      await threadsNamed('store writer')[0]!.terminate()
      await exit
      assert.ok((await datasets(open)).includes('before'))
      const settled = await results
      const there = new Set(await datasets(open))
      for (const [i, result] of settled.entries()) {
        // The outcome of a lost call is unknown.
        if (result.status === 'rejected') isUnavailable(result.reason)
        else assert.ok(there.has(names[i]!), 'acknowledged writes are kept')
      }
      const lost = settled.filter(({ status }) => status === 'rejected').length
      assert.ok(lost <= 8, `${lost} calls were lost`)
    }
    await commit(open, 'after')
    assert.ok((await datasets(open)).includes('after'))
    assert.equal(threadsNamed('store writer').length, 1)
  })
})
