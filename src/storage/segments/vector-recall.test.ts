import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { InProcessSegments } from '../../../test/contracts/in-process-segments.ts'
import { plainColumns } from '../../../test/support/plain-columns.ts'
import { noFilters } from '../../search/search-index.ts'

const dimensions = 384
const chunks = 20_000
const topK = 20
const queries = 12
const empty = { terms: [], positions: [], length: 0 }

/** Even draws between -1 and 1, the same every time. */
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

function cosine(a: Float32Array, b: Float32Array): number {
  let [product, squaresA, squaresB] = [0, 0, 0]
  for (let i = 0; i < a.length; i++) {
    product += a[i]! * b[i]!
    squaresA += a[i]! * a[i]!
    squaresB += b[i]! * b[i]!
  }
  return product / Math.sqrt(squaresA * squaresB)
}

test('clustered vectors: recall of at least .99 at scopes of 100, 10, 1 and 0.1 %', async () => {
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
      index.tidy(1000)
    }
    const scopes = { 1: ['i', 'x', 'c', 'm'], 10: ['x', 'c', 'm'], 100: ['c', 'm'], 1000: ['m'] }
    for (const [step, datasets] of Object.entries(scopes)) {
      const entry = { platforms: null, languages: null, regions: null, publishedFrom: null, publishedTo: null }
      const scope = { entries: [{ ...entry, datasets, fields: ['body' as const] }] }
      let same = 0
      let wanted = 0
      for (let i = 0; i < queries; i++) {
        const vector = vectorAround(draw)
        const page = await index.vector({ profileId: 'p', vector, scope, filters: noFilters, topK, timeoutMs: 60_000 })
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
      assert.ok(same / wanted >= 0.99, `recall ${same / wanted} at one of ${step}`)
    }
  } finally {
    await index.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
