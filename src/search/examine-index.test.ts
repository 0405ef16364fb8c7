import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { failure } from '../operator/examine.ts'
import { examineIndex } from './examine-index.ts'
import type { IndexHome, InspectedIndex } from './index-home.ts'
import type { Backlog, IndexSource } from './index-source.ts'

const inspected: InspectedIndex = { position: 9, chunks: 5, bytes: 3 * 2 ** 20, isHeldInMemory: true, findings: [] }

async function said(found: InspectedIndex | null, more: { chunks?: number; backlog?: Partial<Backlog> } = {}) {
  const home = { chunksComfortable: 100, inspect: async () => found } as unknown as IndexHome
  const source = {
    chunkCount: async () => more.chunks ?? 5,
    backlog: async () => ({ documents: 0, waitingVectors: 0, oldestAt: null, ...more.backlog }),
    vectorGaps: async () => ({ lost: 0, refused: 0 }),
  } as unknown as IndexSource
  return (await examineIndex(source, home)).map(({ state, about }) => `${state}: ${about}`)
}

suite('what doctor says of the search index', () => {
  test('its size, and whether it is up to date', async () => {
    assert.deepEqual(await said(inspected), [
      'ok: search index: 5 chunks, 3 MiB on disk and about as much in memory, up to date',
    ])
    assert.deepEqual(await said(null), ['ok: no search index yet: tidemark serve makes it'])
    assert.match((await said(inspected, { backlog: { documents: 2 } })).join(), /^warning: .*2 documents and 0 vectors/)
  })

  test('what the technology knows of itself', async () => {
    const findings = [failure('the disk of node 2 is full', 'make room there')]
    assert.deepEqual(await said({ ...inspected, isHeldInMemory: false, findings }), [
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
