import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { InProcessSegments } from '../../../test/contracts/in-process-segments.ts'
import { cosine } from '../../../test/support/cosine.ts'
import { plainColumns } from '../../../test/support/plain-columns.ts'
import { noFilters } from '../../search/search-index.ts'

const dimensions = 384
const chunks = 20_000
const topK = 20
const queries = 12
const anything = { platforms: null, languages: null, regions: null, publishedFrom: null, publishedTo: null }
const empty = { terms: [], positions: [], length: 0 }

/** Uniform random numbers between -1 and 1, the same in every run. */
function draws(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 31 - 1
  }
}

function clusteredVectors(): (draw: () => number) => Float32Array {
  const random = draws(1)
  const centres = Array.from({ length: 150 }, () => Float32Array.from({ length: dimensions }, random))
  return (draw) => {
    const centre = centres[Math.floor(((draw() + 1) / 2) * 149.99)]!
    return Float32Array.from(centre, (component) => component + 0.7 * draw())
  }
}

test('recall of clustered vectors is at least 0.99, and 0.98 of random queries, at scopes of 100, 10, 1 and 0.1 %', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'segments-'))
  const index = new InProcessSegments({ path: join(folder, 'index.db'), sealChunks: 4096, segmentChunks: 8192 })
  try {
    const vectorAround = clusteredVectors()
    const draw = draws(2)
    const vectors = Array.from({ length: chunks }, () => vectorAround(draw))
    for (let from = 0; from < chunks; from += 1000) {
      const changes = vectors.slice(from, from + 1000).map((vector, i) => ({
        kind: 'put_version' as const,
        documentId: `d${from + i}`,
        versionId: `v${from + i}`,
        current: true,
        columns: {
          ...plainColumns,
          // Nested shares: every tenth, hundredth and thousandth chunk.
          datasetId: (from + i) % 1000 === 0 ? 'm' : (from + i) % 100 === 0 ? 'c' : (from + i) % 10 === 0 ? 'x' : 'i',
        },
        title: empty,
        chunks: [{ chunkId: `c${from + i}`, body: empty, vectors: [{ profileId: 'p', vector }] }],
      }))
      await index.apply({ position: from + 1, changes })
      index.runBackground(1000)
    }
    const scopes = { 1: ['i', 'x', 'c', 'm'], 10: ['x', 'c', 'm'], 100: ['c', 'm'], 1000: ['m'] }
    const kinds = [
      { what: 'clustered queries', least: 0.99, drawQuery: () => vectorAround(draw) },
      { what: 'random queries', least: 0.98, drawQuery: () => Float32Array.from({ length: dimensions }, draw) },
    ]
    for (const { what, least, drawQuery } of kinds) {
      for (const [step, datasets] of Object.entries(scopes)) {
        const scope = { entries: [{ ...anything, datasets, fields: ['body' as const] }] }
        let same = 0
        let wanted = 0
        for (let i = 0; i < queries; i++) {
          const vector = drawQuery()
          const page = await index.vector({
            profileId: 'p',
            vector,
            scope,
            filters: noFilters,
            topK,
            timeoutMs: 60_000,
          })
          assert.ok(page.outcome === 'found')
          const exact = vectors
            .flatMap((other, number) =>
              number % Number(step) === 0 ? [{ id: `d${number}`, score: cosine(vector, other) }] : [],
            )
            .sort((a, b) => b.score - a.score)
            .slice(0, topK)
          const found = new Map(page.hits.map((hit) => [hit.documentId, hit.score]))
          wanted += exact.length
          for (const { id, score } of exact) {
            if (!found.has(id)) continue
            same++
            assert.ok(Math.abs(found.get(id)! - score) < 1e-6)
          }
        }
        assert.ok(same / wanted >= least, `recall ${same / wanted} of ${what} at one of ${step}`)
      }
    }
  } finally {
    await index.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

test('the nearest are found although the sampled rows seem nearer than they are', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'segments-'))
  const index = new InProcessSegments({ path: join(folder, 'index.db'), sealChunks: 8192, segmentChunks: 8192 })
  try {
    const draw = draws(3)
    const query = Float32Array.from({ length: dimensions }, () => draw() ** 3)
    const sameCodes = query.map(Math.sign)
    const vectorAt = (row: number): Float32Array => {
      // One group of 16 rows in 61 is sampled to estimate the distance of the nearest rows.
      if (Math.floor(row / 16) % 61 === 0) return sameCodes
      if (row >= 100 && row < 100 + topK) return query.map((component) => component + 0.3 * draw())
      return Float32Array.from({ length: dimensions }, draw)
    }
    const changes = Array.from({ length: 8000 }, (_, row) => ({
      kind: 'put_version' as const,
      documentId: `d${String(row).padStart(4, '0')}`,
      versionId: `v${row}`,
      current: true,
      columns: plainColumns,
      title: empty,
      chunks: [{ chunkId: `c${row}`, body: empty, vectors: [{ profileId: 'p', vector: vectorAt(row) }] }],
    }))
    await index.apply({ position: 1, changes })
    const scope = { entries: [{ ...anything, datasets: [plainColumns.datasetId], fields: ['body' as const] }] }
    const page = await index.vector({
      profileId: 'p',
      vector: query,
      scope,
      filters: noFilters,
      topK,
      timeoutMs: 60_000,
    })
    assert.ok(page.outcome === 'found')
    assert.deepEqual(
      page.hits.map(({ documentId }) => documentId).sort(),
      Array.from({ length: topK }, (_, i) => `d${String(100 + i).padStart(4, '0')}`),
    )
  } finally {
    await index.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
