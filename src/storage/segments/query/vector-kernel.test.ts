import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { cosine } from '../../../../test/support/cosine.ts'
import { columnLayout, groupRows, packQuery } from '../format/vector-column.ts'
import { Arena, bytesOf } from '../memory/arena.ts'
import { openColumn } from '../memory/segment.ts'
import { openKernel } from './vector-kernel.ts'

test('the SIMD kernel gives what the plain one gives, for every size', () => {
  const arena = new Arena()
  const simd = openKernel('simd', arena.memories)
  const plain = openKernel('plain', arena.memories)
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
