import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { cosine } from '../../../../test/support/cosine.ts'
import { codeStartOf, columnLayout, groupRows, packQuery, type VectorColumn } from '../format/vector-column.ts'
import { Arena, bytesOf } from '../memory/arena.ts'
import { type OpenColumn, openColumn, type Segment } from '../memory/segment.ts'
import { BestChunks, BestDocuments, BestOfTwo, nearestByInt8 } from './compare-int8.ts'
import { VectorKernel } from './vector-kernel.ts'

const dimensions = 64
const rows = 8000
const topK = 20
const nearRows = 60

/** Uniform random numbers between -1 and 1, the same in every run. */
function draws(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 31 - 1
  }
}

const draw = draws(5)
const drawVector = (): Float32Array => Float32Array.from({ length: dimensions }, draw)
const topic = drawVector()
const around = (centre: Float32Array): Float32Array => centre.map((component) => component + 0.6 * draw())
const vectors = Array.from({ length: rows }, (_, row) =>
  row % Math.floor(rows / nearRows) === 0 ? around(topic) : drawVector(),
)

/** The rows that may be among the nearest, and how many were compared. The binary codes keep all rows. */
function searched(query: Float32Array, misleading: readonly number[] = []): { found: number[]; compared: number } {
  const arena = new Arena()
  const block = arena.allocate(columnLayout(rows, dimensions).total)
  bytesOf(arena.memories, block).fill(0)
  const open = openColumn(arena.memories, { profile: 1, dimensions, rows: null, block }, rows)
  for (const [row, vector] of vectors.entries()) open.column.set(row, vector)
  for (const row of misleading) copyCode(open.column, row, row + 1)

  const kernel = new VectorKernel(arena.memories)
  const packed = packQuery(query)
  kernel.setQuery(packed)
  kernel.setVisible(new Uint32Array(rows / 32).fill(2 ** 32 - 1))
  const count = kernel.near(open, 0, rows, packed.farthest, 0)
  const near = { rows: kernel.nearRows.slice(0, count), distances: kernel.nearDistances.slice(0, count) }
  let compared = 0
  const productsOf = kernel.productsOf.bind(kernel)
  kernel.productsOf = (column: OpenColumn, list: Uint16Array) => {
    compared += list.length
    return productsOf(column, list)
  }
  const candidates = nearestByInt8(
    { kernel, best: new BestChunks(topK), deadline: Infinity },
    { columns: [{ segment: 0, open, ...near }], limit: packed.farthest },
    packed.scale,
  )
  assert.ok(candidates !== null)
  return { found: candidates.map(({ chunk }) => chunk).sort((a, b) => a - b), compared }
}

function nearest(query: Float32Array): number[] {
  const cosines = vectors.map((vector) => cosine(query, vector))
  return [...vectors.keys()].sort((a, b) => cosines[b]! - cosines[a]!).slice(0, topK)
}

test('if some rows are much nearer than the rest, most of the rest is not compared', () => {
  const query = around(topic)
  const { found, compared } = searched(query)
  assert.ok(compared < rows / 4, `${compared} rows were compared`)
  for (const row of nearest(query)) assert.ok(found.includes(row), `row ${row} is missing`)
})

/** Overwrites the binary code of a row, so that it says nothing about the row. */
function copyCode({ binaryCodes, layout }: VectorColumn, row: number, from: number): void {
  for (let at = 0; at < layout.codeBytes * groupRows; at += groupRows) {
    binaryCodes[codeStartOf(row, layout) + at] = binaryCodes[codeStartOf(from, layout) + at]!
  }
}

test('if nothing is near, nearly all rows are compared, each once', () => {
  const query = drawVector()
  const { found, compared } = searched(query)
  assert.ok(compared > rows / 2 && compared <= rows, `${compared} rows were compared`)
  assert.equal(new Set(found).size, found.length)
  for (const row of nearest(query)) assert.ok(found.includes(row), `row ${row} is missing`)
})

test('if some of the nearest are far by their binary codes, all rows are compared', () => {
  const query = around(topic)
  const misleading = [...vectors.keys()].filter((row) => row % Math.floor(rows / nearRows) === 0).slice(30)
  const { found, compared } = searched(query, misleading)
  assert.equal(compared, rows)
  for (const row of nearest(query)) assert.ok(found.includes(row), `row ${row} is missing`)
})

test('the threshold of the best documents follows their nearest chunks, in any order of chunks', () => {
  const [bucketWidth, rounding] = [1 / 8192, 1e-12]
  const chunkOf = fc.record({
    segment: fc.nat(2),
    chunk: fc.nat(19),
    cosine: fc.double({ min: -1, max: 1, noNaN: true }),
  })
  // Three chunks for each document except the last.
  const chunkDocument = Uint32Array.from({ length: 20 }, (_, chunk) => Math.floor(chunk / 3))
  const segments = Array.from({ length: 3 }, () => ({ data: { chunkDocument } }) as unknown as Segment)
  fc.assert(
    fc.property(fc.array(chunkOf, { maxLength: 80 }), fc.integer({ min: 1, max: 12 }), (chunks, k) => {
      const best = new BestDocuments(k, segments)
      const nearest = new Map<string, number>()
      for (const { segment, chunk, cosine } of chunks) {
        best.add(cosine, segment, chunk)
        const document = `${segment} ${chunkDocument[chunk]}`
        nearest.set(document, Math.max(nearest.get(document) ?? -1, cosine))
        const last = [...nearest.values()].sort((a, b) => b - a)[k - 1]
        // In the lowest bucket nothing is left out.
        const least = Math.max(best.threshold, -1 - bucketWidth)
        if (last === undefined) assert.equal(best.threshold, -Infinity)
        else assert.ok(least <= last + rounding && least >= last - 2 * bucketWidth, `${best.threshold} for ${last}`)
      }
    }),
  )
})

test('the threshold of two rankings is the farther or the nearer of the two', () => {
  const segments = [{ data: { chunkDocument: Uint32Array.of(0, 0, 0, 1, 2) } } as unknown as Segment]
  const cosines = [0.9, 0.8, 0.7, 0.6, 0.5]
  const thresholdOf = (chunks: number, documents: number, which: 'farther' | 'nearer' = 'farther'): number => {
    const best = new BestOfTwo(which, new BestChunks(chunks), new BestDocuments(documents, segments))
    for (const [chunk, cosine] of cosines.entries()) best.add(cosine, 0, chunk)
    return best.threshold
  }
  const near = (found: number, cosine: number) =>
    assert.ok(Math.abs(found - cosine) < 1 / 4096, `${found} for ${cosine}`)
  near(thresholdOf(2, 1), 0.8)
  near(thresholdOf(2, 2), 0.6)
  near(thresholdOf(4, 2), 0.6)
  near(thresholdOf(5, 1), 0.5)
  assert.equal(thresholdOf(6, 1), -Infinity)
  assert.equal(thresholdOf(1, 4), -Infinity)
  near(thresholdOf(2, 2, 'nearer'), 0.8)
  near(thresholdOf(4, 4, 'nearer'), 0.6)
  near(thresholdOf(6, 3, 'nearer'), 0.5)
})
