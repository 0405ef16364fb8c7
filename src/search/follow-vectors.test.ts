import assert from 'node:assert/strict'
import { afterEach, beforeEach, mock, suite, test } from 'node:test'
import { VectorFollower } from './follow-vectors.ts'
import type { IndexSource } from './index-source.ts'
import type { IndexChange, SearchIndex } from './search-index.ts'

/** What the store has and still waits for, and what the index has, as sets of chunk ids. */
const made = new Set<string>()
const waiting = new Set<string>()
const indexed = new Set<string>()
let counted = 0

const vector = Float32Array.of(1)
const stored = (chunkId: string) => ({ chunkId, documentId: 'doc', profileId: 'm', vector })
const source = {
  stillWaiting: async (_: string, ids: readonly string[]) => ids.filter((id) => waiting.has(id)),
  vectors: async (ids: readonly string[]) => ids.filter((id) => made.has(id)).map(stored),
  waitingChunks: async (_: string, limit: number) => [...waiting].slice(0, limit),
  vectorCount: async () => {
    counted++
    return made.size
  },
  vectorsAfter: async (_: string, after: string, limit: number) =>
    [...made]
      .filter((id) => id > after)
      .sort()
      .slice(0, limit)
      .map(stored),
} as unknown as IndexSource
const index = {
  health: async () => ({ profiles: [{ profileId: 'm', dimensions: 1, chunks: indexed.size }] }),
  apply: async ({ changes }: { changes: readonly IndexChange[] }) => {
    for (const change of changes) if (change.kind === 'set_vector') indexed.add(change.chunkId)
    return { outcome: 'applied' }
  },
} as unknown as SearchIndex

const names = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => `chk_${String(from + i).padStart(7, '0')}`)
const fed = (ids: readonly string[], follower: VectorFollower) => {
  for (const id of ids) waiting.add(id)
  follower.await(ids)
}
const make = (ids: readonly string[]) => {
  for (const id of ids) {
    made.add(id)
    waiting.delete(id)
  }
}
async function followAll(follower: VectorFollower): Promise<void> {
  while (await follower.follow());
}

suite('vectors that another process makes', () => {
  beforeEach(() => {
    for (const one of [made, waiting, indexed]) one.clear()
    counted = 0
    mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
  })
  afterEach(() => mock.timers.reset())

  test('come into the index when they are there; what is never made is not asked for any more', async () => {
    const follower = new VectorFollower(source, index, 'm')
    fed(['a', 'b', 'never'], follower)
    await followAll(follower)
    assert.equal(indexed.size, 0)
    make(['a'])
    waiting.delete('never')
    await followAll(follower)
    assert.deepEqual([...indexed], ['a'])
    make(['b'])
    await followAll(follower)
    assert.deepEqual([...indexed], ['a', 'b'])
  })

  test('and were made before it began are found by comparing, once', async () => {
    make(names(0, 1000))
    const follower = new VectorFollower(source, index, 'm')
    await followAll(follower)
    assert.equal(indexed.size, 1000)
    await followAll(follower)
    assert.equal(counted, 1)
  })

  test('of more chunks than are remembered are all found, however late they are made', async () => {
    const follower = new VectorFollower(source, index, 'm')
    const all = names(0, 100_500)
    fed(all, follower)
    await followAll(follower)
    make(all.slice(100_100))
    mock.timers.tick(60_000)
    await followAll(follower)
    assert.equal(indexed.size, 400)
    make(all)
    mock.timers.tick(60_000)
    await followAll(follower)
    mock.timers.tick(60_000)
    await followAll(follower)
    assert.equal(indexed.size, all.length)
    const before = counted
    mock.timers.tick(60_000)
    await followAll(follower)
    assert.equal(counted, before, 'nothing is left to compare')
  })
})
