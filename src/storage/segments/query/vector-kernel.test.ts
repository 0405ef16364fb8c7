import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { cosine } from '../../../../test/support/cosine.ts'
import { segmentChunksMax } from '../format/segment-data.ts'
import { codeStartOf, columnLayout, groupRows, type PackedQuery, packQuery } from '../format/vector-column.ts'
import { Arena, bytesOf } from '../memory/arena.ts'
import { type OpenColumn, openColumn } from '../memory/segment.ts'
import { type Products, VectorKernel } from './vector-kernel.ts'

/** The same in TypeScript, as simply as possible. */
class PlainKernel {
  readonly nearRows = new Uint16Array(segmentChunksMax)
  readonly nearDistances = new Uint16Array(segmentChunksMax)
  readonly #products: Products = {
    products: new Int32Array(segmentChunksMax),
    scales: new Float32Array(segmentChunksMax),
  }
  readonly counts = new Uint32Array(2 ** 16)
  #visible = new Uint32Array(0)
  #codeTables = new Uint8Array(0)
  #components = new Int16Array(0)

  setQuery({ codeTables, components }: PackedQuery): void {
    this.#codeTables = codeTables.slice()
    this.#components = components.slice()
  }

  setVisible(bits: Uint32Array): void {
    this.#visible = bits.slice()
  }

  near(open: OpenColumn, first: number, count: number, limit: number, at: number): number {
    let found = 0
    for (let row = first; row < first + count; row++) {
      const isVisible = (this.#visible[row >>> 5]! >>> row) & 1
      if (isVisible === 0 || open.column.present[row] !== 1) continue
      const distance = this.#distance(open, row)
      if (distance > limit) continue
      this.nearRows[at + found] = row
      this.nearDistances[at + found++] = distance
      this.counts[distance]!++
    }
    return found
  }

  productsOf({ column }: OpenColumn, list: Uint16Array): Products {
    const stride = column.layout.int8Stride
    const { products, scales } = this.#products
    list.forEach((row, i) => {
      let sum = 0
      for (let at = 0; at < stride; at++) sum += column.int8Codes[row * stride + at]! * this.#components[at]!
      products[i] = sum
      scales[i] = column.scale[row]!
    })
    return this.#products
  }

  cosinesOf(vector: Float32Array, rows: readonly Float32Array[]): Float64Array {
    const squaresOfVector = squaresOf(vector)
    return Float64Array.from(rows, (row) => {
      let product = 0
      for (let i = 0; i < vector.length; i++) product += vector[i]! * row[i]!
      return product / Math.sqrt(squaresOfVector * squaresOf(row))
    })
  }

  #distance({ column }: OpenColumn, row: number): number {
    const { binaryCodes, layout } = column
    let at = codeStartOf(row, layout)
    let sum = 0
    for (let table = 0; table < this.#codeTables.length; table += 32, at += groupRows) {
      const codes = binaryCodes[at]!
      sum += this.#codeTables[table + (codes & 15)]! + this.#codeTables[table + 16 + (codes >>> 4)]!
    }
    return sum
  }
}

function squaresOf(vector: Float32Array): number {
  let squares = 0
  for (let i = 0; i < vector.length; i++) squares += vector[i]! * vector[i]!
  return squares
}

test('the kernel gives the same results as plain loops, for every size', () => {
  const arena = new Arena()
  const simd = new VectorKernel(arena.memories)
  const plain = new PlainKernel()
  const dimensions = fc.oneof(fc.integer({ min: 1, max: 600 }), fc.constantFrom(257, 384, 768, 1536, 4000, 8192))
  fc.assert(
    fc.property(
      dimensions,
      fc.integer({ min: 1, max: 40 }),
      fc.infiniteStream(fc.double({ min: -1, max: 1 })),
      (size, rows, stream) => {
        const layout = columnLayout(rows, size)
        const block = arena.allocate(layout.total)
        bytesOf(arena.memories, block).fill(0)
        const open = openColumn(arena.memories, { profile: 1, dimensions: size, rows: null, block }, rows)
        // One draw decides all components: thousands of draws a run would only be slow.
        const draw = () => {
          const seed = stream.next().value
          return Float32Array.from({ length: size }, (_, i) => Math.sin(seed * 9999 + i * (1 + seed)))
        }
        const isPresent = (row: number): boolean => row % 5 !== 4
        for (let row = 0; row < rows; row++) {
          open.column.set(row, draw())
          if (!isPresent(row)) open.column.present[row] = 0
        }
        const query = packQuery(draw())
        const list = Uint16Array.from({ length: rows }, (_, i) => i).filter((row) => row % 3 !== 1)
        const visible = new Uint32Array((rows + 31) >>> 5)
        for (const row of list) visible[row >>> 5]! |= 1 << row
        const isFound = (row: number): boolean => isPresent(row) && list.includes(row)
        const at = 7
        for (const kernel of [simd, plain]) kernel.setQuery(query)
        for (const limit of [query.farthest, query.farthest >> 1, 0]) {
          for (const first of [0, groupRows].filter((row) => row < rows)) {
            const near = [simd, plain].map((kernel) => {
              kernel.setVisible(visible)
              kernel.counts.fill(0)
              const end = at + kernel.near(open, first, rows - first, limit, at)
              const counts = kernel.counts.slice(0, limit + 1)
              return [kernel.nearRows.slice(at, end), kernel.nearDistances.slice(at, end), counts]
            })
            assert.deepEqual(near[0], near[1])
            const expected = Array.from({ length: rows - first }, (_, i) => first + i).filter(isFound)
            if (limit === query.farthest) assert.deepEqual([...near[0]![0]!], expected)
          }
        }
        const [bySimd, byPlain] = [simd, plain].map((kernel) => {
          const { products, scales } = kernel.productsOf(open, list)
          return { products: products.slice(0, list.length), scales: scales.slice(0, list.length) }
        })
        assert.deepEqual(bySimd, byPlain)
        assert.deepEqual(
          [...bySimd!.scales],
          [...list].map((row) => open.column.scale[row]),
        )
        const [vector, floats] = [draw(), Array.from({ length: rows % 11 }, draw)]
        const cosines = simd.cosinesOf(vector, floats)
        assert.deepEqual(cosines, plain.cosinesOf(vector, floats))
        assert.deepEqual(
          [...cosines],
          floats.map((other) => cosine(vector, other)),
        )
        arena.free(block)
      },
    ),
    { numRuns: 60 },
  )
})
