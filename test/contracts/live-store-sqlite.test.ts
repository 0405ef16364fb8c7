import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { LiveStore } from '../../src/live/live-store.ts'
import { sqlStore } from '../../src/storage/sql/sql-store.ts'
import { openSqliteStore } from '../../src/storage/sqlite/open-sqlite-store.ts'
import { casesOf } from '../support/cases.ts'
import { checkLiveStore, makeCollectors } from './live-store.ts'
import { type LiveFixture, request } from './live-store-model.ts'
import { openMemorySqlite } from './memory-sqlite.ts'

async function inMemory(): Promise<LiveFixture> {
  const { raw, db } = await openMemorySqlite()
  const fixture = (): LiveFixture => ({
    ...sqlStore(db),
    isolated: false,
    reopen: async () => fixture(),
    async close() {
      raw.close()
    },
  })
  return fixture()
}

test('two processes on one store hand out each task once, and one ends what the other began', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-live-'))
  const opened = [await openSqliteStore(folder), await openSqliteStore(folder)] as const
  const [first, second] = opened.map(({ store }) => store.live) as [LiveStore, LiveStore]
  await makeCollectors(opened[0].store.operator)
  const asked = { collectorId: 'c1', datasets: null, platforms: ['rss'], resourceKinds: null, max: 3, leaseMs: 60_000 }
  const now = Date.now()
  await first.lease(asked, now)
  const one = request()
  const same = await Promise.all([first, second, first, second].map((store) => store.create(one, now)))
  assert.equal(same.filter(({ kind }) => kind === 'created').length, 1)
  await Promise.all(Array.from({ length: 19 }, (_, i) => (i % 2 === 0 ? first : second).create(request(), now)))
  const leased = await Promise.all(
    Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? first : second).lease(asked, now)),
  )
  const tasks = leased.flat()
  assert.equal(new Set(tasks.map(({ taskId }) => taskId)).size, 20)
  assert.equal(tasks.length, 20)
  for (const [i, { taskId, leaseId }] of tasks.entries()) {
    const claim = { taskId, collectorId: 'c1', leaseId }
    const answer = await (i % 2 === 0 ? second : first).complete(claim, { event: 'succeed', error: null }, now)
    assert.deepEqual(answer, { held: true, value: { items: 0 } })
  }
  for (const { close } of opened) await close()
  await rm(folder, { recursive: true })
})

/** As in an instance: a file, threads, and all data copied between them. */
async function onDisk(): Promise<LiveFixture> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-live-'))
  const open = async (): Promise<LiveFixture> => {
    const { store, close } = await openSqliteStore(folder)
    return {
      isolated: true,
      live: store.live,
      content: store.content,
      operator: store.operator,
      async reopen() {
        await close()
        return open()
      },
      async close() {
        await close()
        await rm(folder, { recursive: true })
      },
    }
  }
  return open()
}

checkLiveStore('sqlite, in memory', inMemory, casesOf(500))
checkLiveStore('sqlite, as opened by an instance', onDisk, 5)
