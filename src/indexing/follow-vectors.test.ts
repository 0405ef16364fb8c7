import assert from 'node:assert/strict'
import { afterEach, beforeEach, mock, suite, test } from 'node:test'
import type { IndexChange, SearchIndex, WithoutVectorRequest } from './fed-index.ts'
import { ReplacedVectors, VectorFollower } from './follow-vectors.ts'
import type { ActiveProfile, IndexSource } from './index-source.ts'

/**
 * The vectors that the store has, waits for and refused, and the chunks of the index with and without a vector, as sets
 * of chunk ids.
 */
const made = new Set<string>()
const waiting = new Set<string>()
const refused = new Set<string>()
const words = new Set<string>()
const indexed = new Set<string>()
let walked = 0
let lost = 0

let profiles: readonly ActiveProfile[] = []
const vector = Float32Array.of(1)
/** Every chunk has a document of its own. */
const documentOf = (chunkId: string): string => `doc ${chunkId}`
const source = {
  activeProfiles: async () => profiles,
  stillWaiting: async (_: string, ids: readonly string[]) => ids.filter((id) => waiting.has(id)),
  vectors: async (_: string, ids: readonly string[]) =>
    ids.filter((id) => made.has(id)).map((chunkId) => ({ chunkId, documentId: documentOf(chunkId), vector })),
  waitingChunks: async (_: string, limit: number) => [...waiting].slice(0, limit),
  awaitVectors: async (_: string, ids: readonly string[]) => {
    const added = ids.filter((id) => !made.has(id) && !waiting.has(id) && !refused.has(id))
    for (const id of added) waiting.add(id)
    return added.length
  },
} as unknown as IndexSource
const index = {
  withoutVector: async ({ languages, after, limit }: WithoutVectorRequest) => {
    if (after === null) walked++
    const missing = [...words]
      .filter((id) => !indexed.has(id) && (after === null || documentOf(id) > after))
      .filter((id) => languages === null || languages.includes(id.slice(0, 2)))
      .sort()
    const chunks = missing.slice(0, limit).map((chunkId) => ({ chunkId, documentId: documentOf(chunkId) }))
    return { outcome: 'found', chunks, next: missing.length > limit ? chunks.at(-1)!.documentId : null }
  },
  apply: async ({ changes }: { changes: readonly IndexChange[] }) => {
    for (const change of changes) {
      if (change.kind === 'set_vector' && words.has(change.chunkId)) indexed.add(change.chunkId)
    }
    return { outcome: 'applied' }
  },
} as unknown as SearchIndex

const follow = (shared = true): VectorFollower =>
  new VectorFollower({ source, index, profileId: 'm', shared, awaitedMax: 1000, lost: (chunks) => (lost += chunks) })
const names = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => `chk_${String(from + i).padStart(7, '0')}`)
const fed = (ids: readonly string[], follower: VectorFollower | null) => {
  for (const id of ids) {
    words.add(id)
    waiting.add(id)
  }
  // A vector of another profile does not count.
  follower?.fed({ chunkIds: ids, vectors: ids.map((chunkId) => ({ chunkId, profileId: 'other', vector })) })
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

suite('following vectors that the index does not have yet', () => {
  beforeEach(() => {
    for (const one of [made, waiting, refused, words, indexed]) one.clear()
    profiles = []
    walked = 0
    lost = 0
    mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
  })
  afterEach(() => mock.timers.reset())

  test('vectors of another process are copied once they exist; a refused text is no longer looked up', async () => {
    const follower = follow()
    fed(['a', 'b', 'never'], follower)
    await followAll(follower)
    assert.equal(indexed.size, 0)
    make(['a'])
    waiting.delete('never')
    refused.add('never')
    await followAll(follower)
    assert.deepEqual([...indexed], ['a'])
    make(['b'])
    await followAll(follower)
    assert.deepEqual([...indexed], ['a', 'b'])
    assert.equal(lost, 0)
  })

  for (const shared of [true, false]) {
    test(`vectors made before the start are found by one walk${shared ? ', and later ones without another' : ''}`, async () => {
      fed(names(0, 1000), null)
      make(names(0, 900))
      const follower = follow(shared)
      await followAll(follower)
      assert.equal(indexed.size, 900)
      make(names(900, 1000))
      mock.timers.tick(60_000)
      await followAll(follower)
      // If it is alone, this process makes the vectors and gives them to the index itself.
      assert.equal(indexed.size, shared ? 1000 : 900)
      assert.equal(walked, 1)
    })
  }

  test('chunks that were never queued for a vector are queued; refused ones are not', async () => {
    fed(names(0, 600), null)
    waiting.clear()
    refused.add(names(0, 1)[0]!)
    const follower = follow(false)
    await followAll(follower)
    assert.deepEqual([lost, waiting.size], [599, 599])
  })

  test('for a model of some languages, only texts in these languages are checked', async () => {
    fed(['de 1', 'de 2', 'en 1', 'en 2'], null)
    make(['de 1', 'en 1'])
    waiting.clear()
    profiles = [
      { profileId: 'first', languages: null },
      { profileId: 'm', languages: ['en'] },
    ]
    await followAll(follow(false))
    assert.deepEqual([...indexed], ['en 1'])
    assert.deepEqual([...waiting], ['en 2'])
  })

  test('after another index replaces the current one, all chunks are checked again', async () => {
    const follower = follow(false)
    await followAll(follower)
    fed(names(0, 300), null)
    make(names(0, 300))
    await followAll(follower)
    assert.equal(indexed.size, 0)
    follower.walkAgain()
    await followAll(follower)
    assert.equal(indexed.size, 300)
  })

  test('vectors of more chunks than can be remembered are all found, however late they are made', async () => {
    const follower = follow()
    await followAll(follower)
    const all = names(0, 1500)
    fed(all, follower)
    make(all.slice(1100))
    mock.timers.tick(60_000)
    await followAll(follower)
    assert.equal(indexed.size, 400)
    make(all)
    mock.timers.tick(60_000)
    await followAll(follower)
    mock.timers.tick(60_000)
    await followAll(follower)
    assert.equal(indexed.size, all.length)
    const before = walked
    mock.timers.tick(60_000)
    await followAll(follower)
    assert.equal(walked, before, 'nothing is left to walk for')
  })

  test('vectors of a replaced model are copied once, while the new model is still making its own; no chunk is queued', async () => {
    const served = { ...index, health: async () => ({ profiles: [{ profileId: 'old' }, { profileId: 'm' }] }) }
    const replaced = new ReplacedVectors(source, served as unknown as SearchIndex, ['m'])
    fed(names(0, 600), null)
    make(names(0, 500))
    while (await replaced.follow());
    assert.equal(indexed.size, 500)
    assert.equal(walked, 1)
    waiting.clear()
    fed(names(600, 700), null)
    make(names(600, 700))
    replaced.walkAgain()
    while (await replaced.follow());
    assert.equal(walked, 1, 'searches no longer use the replaced model')
    assert.equal(waiting.size, 0)
  })
})
