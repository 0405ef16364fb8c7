import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cosine } from '../../../../test/support/cosine.ts'
import { columnLayout, firstBitsOf, groupRows, packQuery, type VectorColumn } from '../format/vector-column.ts'
import { Arena, bytesOf } from '../memory/arena.ts'
import { type OpenColumn, openColumn } from '../memory/segment.ts'
import { nearestByBytes } from './compare-bytes.ts'
import { openKernel } from './vector-kernel.ts'

const dimensions = 64
const rows = 8000
const topK = 20
const nearOnes = 60

/** Even draws between -1 and 1, the same every time. */
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
  row % Math.floor(rows / nearOnes) === 0 ? around(topic) : drawVector(),
)

/** The rows that may be among the nearest, and how many were compared for it. All of them are kept by their signs. */
function searched(query: Float32Array, odd: readonly number[] = []): { found: number[]; compared: number } {
  const arena = new Arena()
  const block = arena.allocate(columnLayout(rows, dimensions).total)
  bytesOf(arena.memories, block).fill(0)
  const open = openColumn(arena.memories, { profile: 1, dimensions, rows: null, block }, rows)
  for (const [row, vector] of vectors.entries()) open.column.set(row, vector)
  for (const row of odd) takeSigns(open.column, row, row + 1)

  const kernel = openKernel('simd', arena.memories)
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
  const candidates = nearestByBytes(
    { kernel, topK, deadline: Infinity },
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

test('where some rows are much nearer than the rest, most of the rest is not compared', () => {
  const query = around(topic)
  const { found, compared } = searched(query)
  assert.ok(compared < rows / 4, `${compared} rows were compared`)
  for (const row of nearest(query)) assert.ok(found.includes(row), `row ${row} is missing`)
})

/** As if the signs of a row said nothing of it. */
function takeSigns({ bits, layout }: VectorColumn, row: number, from: number): void {
  for (let at = 0; at < layout.signBytes * groupRows; at += groupRows) {
    bits[firstBitsOf(row, layout) + at] = bits[firstBitsOf(from, layout) + at]!
  }
}

test('where nothing is near, nearly all rows are compared, each once', () => {
  const query = drawVector()
  const { found, compared } = searched(query)
  assert.ok(compared > rows / 2 && compared <= rows, `${compared} rows were compared`)
  assert.equal(new Set(found).size, found.length)
  for (const row of nearest(query)) assert.ok(found.includes(row), `row ${row} is missing`)
})

test('where some of the nearest are far by their signs, all rows are compared', () => {
  const query = around(topic)
  const odd = [...vectors.keys()].filter((row) => row % Math.floor(rows / nearOnes) === 0).slice(30)
  const { found, compared } = searched(query, odd)
  assert.equal(compared, rows)
  for (const row of nearest(query)) assert.ok(found.includes(row), `row ${row} is missing`)
})
