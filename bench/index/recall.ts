import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { noFilters } from '../../src/search/search-index.ts'
import { openSegmentsIndex } from '../../src/storage/segments/segments-index.ts'

const dimensions = 384
const queries = 200
const topKs = [20, 200]
const timeoutMs = 60_000
const empty = { terms: [], positions: [], length: 0 }
const shares = { '100 %': 1, '10 %': 10, '1 %': 100, '0.1 %': 1000 }

function cosine(a: Float32Array, b: Float32Array): number {
  let [product, squaresA, squaresB] = [0, 0, 0]
  for (let i = 0; i < dimensions; i++) {
    product += a[i]! * b[i]!
    squaresA += a[i]! * a[i]!
    squaresB += b[i]! * b[i]!
  }
  return product / Math.sqrt(squaresA * squaresB)
}

/** Recall against an exact scan, on the vectors of a file; the last 200 rows are the queries. */
export async function recallOfFile(file: string): Promise<void> {
  const bytes = readFileSync(file)
  const all = new Float32Array(new Uint8Array(bytes).buffer)
  const rows = Array.from({ length: all.length / dimensions }, (_, i) =>
    all.subarray(i * dimensions, (i + 1) * dimensions),
  )
  const documents = rows.slice(0, -queries)
  const folder = mkdtempSync(join(tmpdir(), 'bench-recall-'))
  const index = await openSegmentsIndex({ path: join(folder, 'index.db') })
  try {
    for (let from = 0; from < documents.length; from += 500) {
      const changes = documents.slice(from, from + 500).map((vector, i) => put(from + i, vector))
      await index.apply({ position: from + 1, changes })
    }
    console.log(`${documents.length} vectors, ${queries} queries, recall at ${topKs.join(' and ')}`)
    for (const [name, step] of Object.entries(shares)) {
      const entry = { platforms: null, languages: null, regions: null, publishedFrom: null, publishedTo: null }
      const datasets = Object.values(shares)
        .filter((share) => share >= step)
        .map((share) => `every${share}`)
      const scope = { entries: [{ ...entry, datasets, fields: ['body' as const] }] }
      const counts = topKs.map(() => ({ same: 0, wanted: 0 }))
      for (const vector of rows.slice(-queries)) {
        const exact = documents
          .flatMap((row, i) => (i % step === 0 ? [{ id: `d${i}`, score: cosine(vector, row) }] : []))
          .sort((a, b) => b.score - a.score)
        for (const [i, topK] of topKs.entries()) {
          const page = await index.vector({ profileId: 'p', vector, scope, filters: noFilters, topK, timeoutMs })
          const found = new Set(page.outcome === 'found' ? page.hits.map((hit) => hit.documentId) : [])
          const nearest = exact.slice(0, topK)
          counts[i]!.wanted += nearest.length
          counts[i]!.same += nearest.filter(({ id }) => found.has(id)).length
        }
      }
      const shown = counts.map(({ same, wanted }) => (same / wanted).toFixed(4))
      console.log(`${name.padStart(6)}  ${shown.join('  ')}`)
    }
  } finally {
    await index.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

function put(number: number, vector: Float32Array) {
  const dataset = Object.values(shares).findLast((share) => number % share === 0)
  return {
    kind: 'put_version' as const,
    documentId: `d${number}`,
    versionId: `v${number}`,
    current: true,
    columns: {
      datasetId: `every${dataset}`,
      platform: 'p',
      language: null,
      region: null,
      contentType: null,
      status: 'active' as const,
      publishedAt: null,
      authorId: null,
      topics: [],
      tags: [],
      classifications: [],
      score: null,
    },
    title: empty,
    chunks: [{ chunkId: `c${number}`, body: empty, vectors: [{ profileId: 'p', vector }] }],
  }
}
