import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { failure } from '../operator/examine.ts'
import { examineIndex } from './examine-index.ts'
import type { IndexHome, InspectedIndex } from './index-home.ts'
import type { Backlog, IndexSource } from './index-source.ts'

const inspected: InspectedIndex = { position: 9, chunks: 5, bytes: 3 * 2 ** 20, findings: [] }

interface Store {
  readonly chunks?: number
  readonly backlog?: Partial<Backlog>
  /** What waits when it is looked at again, after 4 s. */
  readonly later?: Partial<Backlog>
}

async function said(found: InspectedIndex | null, more: Store = {}) {
  let backlog = more.backlog
  const home = { chunksComfortable: 100, inspect: async () => found } as unknown as IndexHome
  const source = {
    chunkCount: async () => more.chunks ?? 5,
    backlog: async () => ({ documents: 0, waitingVectors: 0, oldestAt: null, ...backlog }),
    vectorGaps: async () => ({ lost: 0, refused: 0 }),
  } as unknown as IndexSource
  const pause = async () => {
    backlog = more.later
    return 4_000
  }
  return (await examineIndex(source, home, pause)).map(({ state, about }) => `${state}: ${about}`)
}

suite('what doctor says of the search index', () => {
  test('its size, and whether it is up to date', async () => {
    assert.deepEqual(await said(inspected), ['ok: search index: 5 chunks, 3 MiB on disk, up to date'])
    assert.deepEqual(await said(null), ['ok: no search index yet: tidemark serve creates it'])
    assert.match(
      (await said(inspected, { backlog: { documents: 2 } })).join(),
      /^warning: .*MiB on disk; 2 documents behind$/,
    )
  })

  test('how fast the vectors that wait are made, and how long that will take; or that nobody makes them', async () => {
    const after = async (waitingVectors: number) =>
      (await said(inspected, { backlog: { waitingVectors: 1000 }, later: { waitingVectors } })).join()
    assert.match(await after(952), /; 1000 vectors behind; 952 left at 12 per second, about 80 s$/)
    assert.match(await after(0), /; 0 left at 250 per second, about 0 s$/)
    assert.match(await after(1000), /; no vector was computed in 4 s$/)
    assert.match(await after(1040), /; texts arrive faster than vectors are computed$/)
  })

  test('what the technology knows of itself', async () => {
    const findings = [failure('the disk of node 2 is full', 'make room there')]
    assert.deepEqual(await said({ ...inspected, findings }), [
      'ok: search index: 5 chunks, 3 MiB on disk, up to date',
      'failure: the disk of node 2 is full',
    ])
  })

  test('more chunks in the store than the technology is made for, before there is an index too', async () => {
    for (const found of [null, { ...inspected, chunks: 101 }]) {
      const last = (await said(found, { chunks: 101 })).at(-1)
      assert.equal(last, 'warning: 101 chunks are more than one node searches comfortably')
    }
    assert.equal((await said({ ...inspected, chunks: 100 }, { chunks: 100 })).length, 1)
  })
})
