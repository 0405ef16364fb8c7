import type { PackedQuery } from '../format/vector-column.ts'
import type { OpenColumn } from '../memory/segment.ts'
import { floatRowsAtOnce, vectorLayout } from './kernel-layouts.ts'
import { ArenaKernel, openMemory } from './kernel-memory.ts'

export interface Products {
  readonly products: Int32Array
  readonly scales: Float32Array
}

interface KernelExports {
  near(first: number, count: number, limit: number, at: number): number
  products_of(count: number): void
  four_sums(stride: number): void
}

/**
 * The inner loops of vector search: two over the rows of one column, one over floats. They are in `vector-kernel.wasm`,
 * one instance for each arena. The distance of a row is the sum of the weights of the components whose sign differs
 * from the query's. The next call overwrites the result of a call. Lists of rows are ascending.
 */
export class VectorKernel {
  readonly #memory = openMemory(vectorLayout)
  readonly #kernel: ArenaKernel<KernelExports>
  /** The column whose offsets were written last. */
  #open: OpenColumn | null = null
  readonly nearRows = this.#memory.arrays.list
  readonly nearDistances = this.#memory.arrays.nearDistances
  readonly counts = this.#memory.arrays.counts
  readonly #products: Products = {
    products: this.#memory.arrays.products,
    scales: this.#memory.arrays.productScales,
  }

  constructor(memories: readonly WebAssembly.Memory[]) {
    this.#kernel = new ArenaKernel('vector-kernel.wasm', memories, this.#memory.memory)
  }

  setQuery({ codeTables, components }: PackedQuery): void {
    this.#memory.arrays.codeTables.set(codeTables)
    this.#memory.arrays.components.set(components)
  }

  /** The rows that `near` may find: one bit each, in 32-bit integers. */
  setVisible(bits: Uint32Array): void {
    this.#memory.arrays.visible.set(bits)
  }

  /**
   * Finds those of `count` rows that are visible, have a vector and are no farther than `limit`. The first row is
   * `first`, a multiple of the group size. Writes their numbers and distances to `nearRows` and `nearDistances` from
   * `at` on, and counts each in `counts` by its distance. Returns how many.
   */
  near(open: OpenColumn, first: number, count: number, limit: number, at: number): number {
    return this.#kernelFor(open).near(first, count, limit, at)
  }

  /** The products of the query's components with the int8 codes, and the rows' scales. */
  productsOf(open: OpenColumn, list: Uint16Array): Products {
    this.#memory.arrays.list.set(list)
    this.#kernelFor(open).products_of(list.length)
    return this.#products
  }

  /** The cosines with rows of floats that are as long as `vector`. All sums are in the order of the components. */
  cosinesOf(vector: Float32Array, rows: readonly Float32Array[]): Float64Array {
    // Nothing is read from the arena, so any arena will do.
    const kernel = this.#kernel.on(0)
    const { vector: components, floatRows, floatSums } = this.#memory.arrays
    components.set(vector)
    const squaresOfVector = squaresOf(vector)
    const cosines = new Float64Array(rows.length)
    for (let from = 0; from < rows.length; from += floatRowsAtOnce) {
      const some = Math.min(floatRowsAtOnce, rows.length - from)
      for (let i = 0; i < some; i++) floatRows.set(rows[from + i]!, i * vector.length)
      kernel.four_sums(vector.length * 4)
      for (let i = 0; i < some; i++) {
        cosines[from + i] = floatSums[i]! / Math.sqrt(squaresOfVector * floatSums[floatRowsAtOnce + i]!)
      }
    }
    return cosines
  }

  /** The kernel of the column's arena, set up for the column. */
  #kernelFor(open: OpenColumn): KernelExports {
    const { layout } = open.column
    const { arena, offset } = open.location.block
    if (open !== this.#open) {
      this.#open = open
      this.#memory.write.column({
        codes: offset + layout.codesAt,
        codeBytes: layout.codeBytes,
        present: offset,
        rows: offset + layout.int8At,
        rowBlocks: layout.int8Stride / 16,
        scales: offset + layout.scaleAt,
      })
    }
    return this.#kernel.on(arena)
  }
}

function squaresOf(vector: Float32Array): number {
  let squares = 0
  for (let i = 0; i < vector.length; i++) squares += vector[i]! * vector[i]!
  return squares
}
