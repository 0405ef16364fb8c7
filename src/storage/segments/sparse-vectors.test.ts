import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { InProcessSegments } from '../../../test/contracts/in-process-segments.ts'
import { plainColumns } from '../../../test/support/plain-columns.ts'
import type { PutVersion } from '../../indexing/fed-index.ts'
import { noFilters } from '../../search/search-index.ts'

const dimensions = 64
const chunks = 400
const everyTenth = 'one language'
const empty = { terms: [], positions: [], length: 0 }
const entry = { platforms: null, languages: null, regions: null, publishedFrom: null, publishedTo: null }
const scope = { entries: [{ ...entry, datasets: [plainColumns.datasetId], fields: ['body' as const] }] }

/** Vectors that are far from each other. */
const vectorOf = (number: number): Float32Array =>
  Float32Array.from({ length: dimensions }, (_, i) => Math.sin((number + 1) * (i + 1) ** 2))
const idOf = (number: number): string => String(number).padStart(4, '0')

function put(number: number): PutVersion {
  const profiles = number % 10 === 3 ? ['all languages', everyTenth] : ['all languages']
  const vectors = profiles.map((profileId) => ({ profileId, vector: vectorOf(number) }))
  return {
    kind: 'put_version',
    documentId: `d${idOf(number)}`,
    versionId: `v${idOf(number)}`,
    current: true,
    columns: plainColumns,
    title: empty,
    chunks: [{ chunkId: `c${idOf(number)}`, body: empty, vectors }],
  }
}

async function nearest(index: InProcessSegments, profileId: string, number: number): Promise<string> {
  const request = { scope, filters: noFilters, topK: 5, timeoutMs: 60_000 }
  const page = await index.vector({ profileId, vector: vectorOf(number), ...request })
  assert.ok(page.outcome === 'found')
  assert.ok(Math.abs(page.hits[0]!.score - 1) < 1e-6)
  return page.hits[0]!.documentId
}

async function assertFound(index: InProcessSegments, withVector: readonly number[]): Promise<void> {
  for (const number of withVector) assert.equal(await nearest(index, everyTenth, number), `d${idOf(number)}`)
  for (const number of [0, 17, chunks - 1])
    assert.equal(await nearest(index, 'all languages', number), `d${idOf(number)}`)
  const { profiles } = await index.health()
  assert.deepEqual(
    profiles.map((profile) => profile.chunks),
    [chunks, withVector.length],
  )
}

test('a profile with few vectors takes memory for few, and a vector that has no row yet is found too', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'segments-'))
  const index = new InProcessSegments({ path: join(folder, 'index.db'), sealChunks: 100, segmentChunks: 1000 })
  try {
    for (let from = 0; from < chunks; from += 100) {
      await index.apply({ position: from + 1, changes: Array.from({ length: 100 }, (_, i) => put(from + i)) })
      index.runBackground(1000)
    }
    const few = Array.from({ length: chunks / 10 }, (_, i) => i * 10 + 3)
    const rowsOf = async () => (await index.health()).parts.vectorBytes! / dimensions
    assert.equal(await rowsOf(), chunks + few.length)
    await assertFound(index, few)

    index.reopen()
    assert.equal(await rowsOf(), chunks + few.length)
    await assertFound(index, few)

    const more = 8
    const change = { kind: 'set_vector' as const, documentId: `d${idOf(more)}`, chunkId: `c${idOf(more)}` }
    const late = { ...change, profileId: everyTenth, vector: vectorOf(more) }
    await index.apply({ position: chunks + 1, changes: [late] })
    await assertFound(index, [...few, more])
    index.reopen()
    await assertFound(index, [...few, more])

    await index.checkpoint()
    index.reopen()
    assert.equal(await rowsOf(), chunks + few.length + 1)
    await assertFound(index, [...few, more])
    const scored = await index.score({
      documentIds: [more, more + 1, 13].map((number) => `d${idOf(number)}`),
      query: null,
      vectors: [{ profileId: everyTenth, vector: vectorOf(13), filters: noFilters }],
      scope,
      filters: noFilters,
      timeoutMs: 60_000,
    })
    assert.ok(scored.outcome === 'found')
    const cosines = scored.scores.map(({ vectors: [near] }) => near?.score)
    assert.ok(cosines[0]! < 0.9)
    assert.equal(cosines[1], undefined)
    assert.ok(Math.abs(cosines[2]! - 1) < 1e-6)
  } finally {
    await index.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
