import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { failure } from '../operator/examine.ts'
import { examineIndex } from './examine-index.ts'
import type { IndexHome, IndexOfOtherVersion, InspectedIndex } from './index-home.ts'
import type { Backlog, IndexSource } from './index-source.ts'

const inspected: InspectedIndex = { position: 9, chunks: 5, bytes: 3 * 2 ** 20, findings: [] }

interface Store {
  readonly chunks?: number
  readonly backlog?: Partial<Backlog>
  /** The backlog at the second reading, 4 s later. */
  readonly later?: Partial<Backlog>
  readonly others?: readonly IndexOfOtherVersion[]
}

async function reported(found: InspectedIndex | null, more: Store = {}) {
  let backlog = more.backlog
  const home = {
    fedBy: 'one',
    chunksComfortable: 100,
    inspect: async () => found,
    otherVersions: async () => more.others ?? [],
  } as unknown as IndexHome
  const source = {
    chunkCount: async () => more.chunks ?? 5,
    backlog: async () => ({ documents: 0, waitingVectors: 0, oldestAt: null, ...backlog }),
  } as unknown as IndexSource
  const pause = async () => {
    backlog = more.later
    return 4_000
  }
  return (await examineIndex(source, home, pause)).map(({ state, about }) => `${state}: ${about}`)
}

suite('what doctor reports about the search index', () => {
  test('its size, and whether it is up to date', async () => {
    assert.deepEqual(await reported(inspected), ['ok: search index: 5 chunks, 3 MiB on disk, up to date'])
    assert.deepEqual(await reported(null), ['ok: no search index yet: tidemark serve creates it'])
    assert.match(
      (await reported(inspected, { backlog: { documents: 2 } })).join(),
      /^warning: .*MiB on disk; 2 documents behind$/,
    )
  })

  test('how fast missing vectors are made and how long that will take, or that none are made', async () => {
    const after = async (waitingVectors: number) =>
      (await reported(inspected, { backlog: { waitingVectors: 1000 }, later: { waitingVectors } })).join()
    assert.match(await after(952), /; 1000 vectors behind; 952 left at 12 per second, about 80 s$/)
    assert.match(await after(0), /; 0 left at 250 per second, about 0 s$/)
    assert.match(await after(1000), /; no vector was computed in 4 s$/)
    assert.match(await after(1040), /; texts arrive faster than vectors are computed$/)
  })

  test('findings of the index technology', async () => {
    const findings = [failure('the disk of node 2 is full', 'make room there')]
    assert.deepEqual(await reported({ ...inspected, findings }), [
      'ok: search index: 5 chunks, 3 MiB on disk, up to date',
      'failure: the disk of node 2 is full',
    ])
  })

  test('indexes of other versions and their size, even if there is none of this version', async () => {
    const others = [
      { version: '12ab34cd', bytes: 5 * 2 ** 20 },
      { version: null, bytes: 2 ** 20 },
    ]
    for (const found of [inspected, null]) {
      assert.deepEqual((await reported(found, { others })).slice(1), [
        'warning: the search index of version 12ab34cd takes 5 MiB',
        'warning: the search index of an earlier version takes 1 MiB',
      ])
    }
  })

  test('more chunks in the store than the technology is made for, even if there is no index yet', async () => {
    for (const found of [null, { ...inspected, chunks: 101 }]) {
      const last = (await reported(found, { chunks: 101 })).at(-1)
      assert.equal(last, 'warning: 101 chunks are more than one node searches comfortably')
    }
    assert.equal((await reported({ ...inspected, chunks: 100 }, { chunks: 100 })).length, 1)
  })
})
