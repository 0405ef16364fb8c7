import { readFileSync } from 'node:fs'
import wabt from 'wabt'
import type { ScoreKernel } from '../../src/analysis/algorithms/knn-graph/score-kernel.ts'

/**
 * Eight rows to a panel, six to a group; as many columns at once as leave their scores in the second cache,
 * and no power of two, which would put all rows of scores at the same places of the first.
 */
const panelRows = 8
const groupRows = 6
const rowsAtOnce = 258
const columnsAtOnce = 488

interface KernelExports {
  products(
    left: number,
    groups: number,
    right: number,
    panels: number,
    dimensions: number,
    out: number,
    stride: number,
  ): void
  keep_highest(scores: number, count: number, place: number, best: number, places: number, keep: number): void
}

const upTo = (value: number, step: number): number => Math.ceil(value / step) * step

/** A product would have it compiled beforehand, so that whoever measures leaves it out. */
export async function compileSimdKernel(): Promise<WebAssembly.Module> {
  const source = new URL('./simd-kernel.wat', import.meta.url)
  const features = { simd: true, relaxed_simd: true }
  const parsed = (await wabt()).parseWat(source.pathname, readFileSync(source, 'utf8'), features)
  return new WebAssembly.Module(parsed.toBinary({}).buffer)
}

/** The same as `openKernel` of `src/analysis/algorithms/knn-graph/score-kernel.ts`, by `simd-kernel.wat`. */
export function openSimdKernel(
  module: WebAssembly.Module,
  vectors: Float32Array,
  dimensions: number,
  keepMax: number,
): ScoreKernel {
  const count = vectors.length / dimensions
  const columns = upTo(count, panelRows)
  const panelBytes = panelRows * dimensions * 4
  const rowsAt = columns * dimensions * 4
  const scoresAt = rowsAt + rowsAtOnce * dimensions * 4
  const bestAt = scoresAt + rowsAtOnce * columnsAtOnce * 4
  const placesAt = bestAt + rowsAtOnce * keepMax * 4
  const memory = new WebAssembly.Memory({ initial: Math.ceil((placesAt + rowsAtOnce * keepMax * 4) / 65_536) })
  const { products, keep_highest: keepHighest } = new WebAssembly.Instance(module, { kernel: { memory } })
    .exports as unknown as KernelExports
  const floats = new Float32Array(memory.buffer as ArrayBuffer)
  const numbers = new Int32Array(memory.buffer as ArrayBuffer)
  /** The values of a row among those of the others of its panel or group, `width` of them together. */
  const pack = (row: number, at: number, i: number, width: number): void => {
    const first = at / 4 + (i - (i % width)) * dimensions + (i % width)
    for (let d = 0; d < dimensions; d++) floats[first + d * width] = vectors[row * dimensions + d]!
  }
  for (let row = 0; row < count; row++) pack(row, 0, row, panelRows)
  /** `each` gets the first column of a stretch and how many there are; their scores stand at `scoresAt`. */
  const multiply = (rows: number, each: (first: number, width: number) => void): void => {
    for (let first = 0; first < columns; first += columnsAtOnce) {
      const width = Math.min(columnsAtOnce, columns - first)
      const right = (first / panelRows) * panelBytes
      products(rowsAt, Math.ceil(rows / groupRows), right, width / panelRows, dimensions, scoresAt, columnsAtOnce * 4)
      each(first, width)
    }
  }
  return {
    async nearest(start, rows, keep) {
      for (let i = 0; i < rows; i++) pack(start + i, rowsAt, i, groupRows)
      floats.fill(Number.NEGATIVE_INFINITY, bestAt / 4, bestAt / 4 + rows * keep)
      multiply(rows, (first, width) => {
        // What only fills the last panel up is nobody's neighbour.
        const missing = first + width - count
        for (let row = 0; row < rows; row++) {
          const scores = scoresAt + row * columnsAtOnce * 4
          if (missing > 0) floats.fill(Number.NEGATIVE_INFINITY, scores / 4 + width - missing, scores / 4 + width)
          keepHighest(scores, width, first, bestAt + row * keep * 4, placesAt + row * keep * 4, keep)
        }
      })
      return {
        best: floats.slice(bestAt / 4, bestAt / 4 + rows * keep),
        places: numbers.slice(placesAt / 4, placesAt / 4 + rows * keep),
      }
    },
    async scores(rows) {
      const all = new Float32Array(rows.length * count)
      for (let start = 0; start < rows.length; start += rowsAtOnce) {
        const some = rows.slice(start, start + rowsAtOnce)
        for (const [i, row] of some.entries()) pack(row, rowsAt, i, groupRows)
        multiply(some.length, (first, width) => {
          const real = Math.min(width, count - first)
          for (let row = 0; row < some.length; row++) {
            const scores = scoresAt / 4 + row * columnsAtOnce
            all.set(floats.subarray(scores, scores + real), (start + row) * count + first)
          }
        })
      }
      return all
    },
  }
}
