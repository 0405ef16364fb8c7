import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { noFilters, type SearchIndex } from '../../src/search/search-index.ts'
import { openSegmentsIndex } from '../../src/storage/segments/segments-index.ts'
import { cosine } from '../../test/support/cosine.ts'
import { randomFrom } from './corpus.ts'

const dimensions = 384
const queries = 200
const topKs = [20, 200]
const timeoutMs = 60_000
const empty = { terms: [], positions: [], length: 0 }
const shares = { '100 %': 1, '50 %': 2, '10 %': 10, '1 %': 100, '0.1 %': 1000 }

export interface RecallVectors {
  readonly documents: readonly Float32Array[]
  /** By what they are like. */
  readonly queries: Readonly<Record<string, readonly Float32Array[]>>
}

/** A file of float32, little-endian, 384 to a row. The last 200 rows are queries; others are where no document is. */
export function vectorsOfFile(file: string): RecallVectors {
  const all = new Float32Array(new Uint8Array(readFileSync(file)).buffer)
  const rows = Array.from({ length: all.length / dimensions }, (_, i) =>
    all.subarray(i * dimensions, (i + 1) * dimensions),
  )
  const documents = rows.slice(0, -queries)
  return { documents, queries: { 'as the texts': rows.slice(-queries), ...hardQueries(documents) } }
}

/** Directions that nothing is near to, and sums of three documents, which are far from each other. */
export function hardQueries(documents: readonly Float32Array[]): RecallVectors['queries'] {
  const random = randomFrom(5)
  const some = <T>(draw: () => T): T[] => Array.from({ length: queries / 2 }, draw)
  const direction = () => Float32Array.from({ length: dimensions }, () => random() + random() + random() + random() - 2)
  const sum = () => {
    const three = Array.from({ length: 3 }, () => documents[Math.floor(random() * documents.length)]!)
    return Float32Array.from({ length: dimensions }, (_, i) => three.reduce((total, one) => total + one[i]!, 0))
  }
  return { 'random directions': some(direction), 'sums of three': some(sum) }
}

/** Recall of the embedded index against an exact scan, on the vectors of a file. */
export async function recallOfFile(file: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-recall-'))
  const index = await openSegmentsIndex({ path: join(folder, 'index.db') })
  try {
    const vectors = vectorsOfFile(file)
    await feedVectors(index, vectors)
    await showRecall({ embedded: index }, vectors)
  } finally {
    await index.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

export async function feedVectors(index: SearchIndex, { documents }: RecallVectors): Promise<void> {
  for (let from = 0; from < documents.length; from += 500) {
    const changes = documents.slice(from, from + 500).map((vector, i) => put(from + i, vector))
    const { outcome } = await index.apply({ position: from + 1, changes })
    if (outcome !== 'applied') throw new Error(`a batch could not be fed: ${outcome}`)
  }
}

/** For every kind of query and breadth of scope: recall at 20 and 200, and the median of the time, of each index. At most so many of a kind. */
export async function showRecall(
  indexes: Readonly<Record<string, SearchIndex>>,
  { documents, queries: asked }: RecallVectors,
  most = queries,
): Promise<void> {
  const names = Object.keys(indexes).map((name) => `${name}: at ${topKs.join(', ')}; ms`.padEnd(32))
  console.log(`${documents.length} vectors`.padEnd(28) + names.join(''))
  for (const [kind, vectors] of Object.entries(asked)) {
    for (const [breadth, step] of Object.entries(shares)) {
      const cells = await recallCells(Object.values(indexes), documents, vectors.slice(0, most), step)
      console.log(`${kind.padEnd(20)}${breadth.padStart(6)}  ${cells.map((cell) => cell.padEnd(32)).join('')}`)
    }
  }
}

async function recallCells(
  indexes: readonly SearchIndex[],
  documents: readonly Float32Array[],
  vectors: readonly Float32Array[],
  step: number,
): Promise<string[]> {
  const entry = { platforms: null, languages: null, regions: null, publishedFrom: null, publishedTo: null }
  const datasets = Object.values(shares)
    .filter((share) => share % step === 0)
    .map((share) => `every${share}`)
  const scope = { entries: [{ ...entry, datasets, fields: ['body' as const] }] }
  const visible = documents.filter((_, i) => i % step === 0)
  const counts = indexes.map(() => ({ same: topKs.map(() => 0), times: [] as number[] }))
  const wanted = topKs.map(() => 0)
  for (const vector of vectors) {
    const exact = visible.map((one) => cosine(vector, one)).sort((a, b) => b - a)
    for (const [i, topK] of topKs.entries()) {
      // What is as near as the last of them is as good.
      const last = exact[Math.min(topK, exact.length) - 1]! - 1e-6
      wanted[i]! += Math.min(topK, exact.length)
      for (const [j, index] of indexes.entries()) {
        const startedMs = performance.now()
        const page = await index.vector({ profileId: 'p', vector, scope, filters: noFilters, topK, timeoutMs })
        if (i === 0) counts[j]!.times.push(performance.now() - startedMs)
        if (page.outcome !== 'found') throw new Error(`no answer: ${page.outcome}`)
        counts[j]!.same[i]! += page.hits.filter(({ score }) => score >= last).length
      }
    }
  }
  return counts.map(({ same, times }) => {
    const found = same.map((count, i) => (count / wanted[i]!).toFixed(4))
    return `${found.join(', ')}; ${times.sort((a, b) => a - b)[times.length >> 1]!.toFixed(1)}`
  })
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
