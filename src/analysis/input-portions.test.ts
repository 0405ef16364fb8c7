import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { openSqliteStore } from '../storage/sqlite/open-sqlite-store.ts'
import { dimensionsOf, inputPortions } from './input-portions.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidemark-portions-'))
const open = await openSqliteStore(folder)
after(async () => {
  await open.close()
  rmSync(folder, { recursive: true, force: true })
})
const { analysis, content, indexSource, operator } = open.store

const chunks = Array.from({ length: 700 }, (_, i) => {
  const number = String(i).padStart(3, '0')
  return { chunkId: `chk_${number}`, documentId: `doc_${number}`, versionId: `ver_${number}` }
})

const allScopes = { reads: [], scopes: [], cutoffAt: 0 }

async function read(profileId: string | null) {
  const dimensions = await dimensionsOf(chunks, profileId, analysis)
  const portions = await Array.fromAsync(inputPortions(chunks, { ...allScopes, profileId, dimensions }, analysis))
  for (const { chunkIds, documentIds, versionIds, vectors } of portions) {
    assert.equal(vectors.length, chunkIds.length * dimensions)
    assert.deepEqual(
      documentIds,
      chunkIds.map((id) => id.replace('chk', 'doc')),
    )
    assert.deepEqual(
      versionIds,
      chunkIds.map((id) => id.replace('chk', 'ver')),
    )
  }
  return { dimensions, portions, chunkIds: portions.flatMap(({ chunkIds }) => chunkIds) }
}

suite('the input of an algorithm', () => {
  test('without a profile is every chunk in its order, without vectors', async () => {
    const { dimensions, portions, chunkIds } = await read(null)
    assert.equal(dimensions, 0)
    assert.ok(portions.length > 1)
    assert.deepEqual(
      chunkIds,
      chunks.map(({ chunkId }) => chunkId),
    )
  })

  test('with a profile leaves out chunks without a vector, or with one of other dimensions', async () => {
    const vectorOf = (i: number): number[] => (i % 7 === 3 ? [i, 1, 2] : [i, 1])
    const dataset = { kind: 'dataset.put', datasetId: 'news', name: 'News', description: null } as const
    await operator.commit([dataset], { actor: 'test', at: Date.now() })
    const sent = { datasetId: 'news', platform: 'rss', externalId: 'one', body: 'All chunks are of this one.' }
    const [stored] = await content.ingest([sent], Date.now())
    assert.ok(stored !== undefined && 'documentId' in stored)
    const { documentId, versionId } = stored
    const part = { documentId, versionId, startsAt: 0, endsAt: 0, textHash: null }
    await indexSource.putChunks(chunks.map(({ chunkId }, ordinal) => ({ ...part, chunkId, ordinal })))
    const withVector = chunks.flatMap(({ chunkId }, i) => (i % 5 === 1 ? [] : [{ chunkId, i }]))
    await indexSource.putVectors(
      'profile',
      withVector.map(({ chunkId, i }) => ({ chunkId, vector: Float32Array.from(vectorOf(i)) })),
    )
    const { dimensions, portions, chunkIds } = await read('profile')
    const expected = withVector.filter(({ i }) => vectorOf(i).length === 2)
    assert.equal(dimensions, 2, 'those of the first vector, because the profile has no dimensions yet')
    assert.deepEqual(
      chunkIds,
      expected.map(({ chunkId }) => chunkId),
    )
    assert.deepEqual(
      portions.flatMap(({ vectors }) => [...vectors]),
      expected.flatMap(({ i }) => vectorOf(i)),
    )
  })
})
