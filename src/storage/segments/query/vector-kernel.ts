import { readFileSync } from 'node:fs'
import { segmentChunksMax } from '../format/segment-image.ts'
import { firstBitsOf, groupRows, type PackedQuery } from '../format/vector-column.ts'
import type { OpenColumn } from '../memory/segment.ts'

/**
 * The inner loops of vector search: two over the rows of one column, one over floats. A row's distance is the weight of the components
 * whose signs differ from the query's. What a call returns is overwritten by the next call. `list` is ascending row
 * numbers.
 */
export interface VectorKernel {
  setQuery(query: PackedQuery): void
  /** The rows that `near` may find, a bit each; there are whole words of them. */
  setVisible(bits: Uint32Array): void
  /**
   * Of `count` rows from `first` on, where a group begins, those that are visible, have a vector and are no farther than
   * `limit`: their numbers and distances are in `nearRows` and `nearDistances` from `at` on, and each is counted in
   * `counts` by its distance. Returns how many.
   */
  near(column: OpenColumn, first: number, count: number, limit: number, at: number): number
  readonly nearRows: Uint16Array
  readonly nearDistances: Uint16Array
  readonly counts: Uint32Array
  /** Products of the query's components with the signed bytes, and the rows' scales. */
  productsOf(column: OpenColumn, list: Uint16Array): Products
  /** Cosines with rows of floats that are as long as `vector`. All sums are in the order of the components. */
  cosinesOf(vector: Float32Array, rows: readonly Float32Array[]): Float64Array
}

export interface Products {
  readonly products: Int32Array
  readonly scales: Float32Array
}

export function openKernel(kind: 'simd' | 'plain', memories: readonly WebAssembly.Memory[]): VectorKernel {
  return kind === 'plain' ? new PlainKernel() : new SimdKernel(memories)
}

/** In the kernel's own memory: tables of that many components, the components, lists. What comes before is the kernel's. */
const componentsMax = 8192
const tablesAt = 1024
const componentsAt = 65_536
const listAt = 131_072
const nearAt = listAt + segmentChunksMax * 2
const outAt = nearAt + segmentChunksMax * 2
const visibleAt = outAt + segmentChunksMax * 4
const countsAt = visibleAt + segmentChunksMax / 8
const countsMax = 2 ** 16
const scalesAt = countsAt + countsMax * 4
/** A vector of floats to compare with, as 64-bit numbers; rows to be compared, so many at once; and their sums. */
const vectorAt = scalesAt + segmentChunksMax * 4
const floatRowsAt = vectorAt + componentsMax * 8
const floatRows = 4
const floatSumsAt = floatRowsAt + floatRows * componentsMax * 4
const scratchPages = (floatSumsAt + floatRows * 16) / 65_536

interface KernelExports {
  near(
    group: number,
    count: number,
    tables: number,
    signBytes: number,
    limit: number,
    first: number,
    visible: number,
    present: number,
    list: number,
    near: number,
    counts: number,
  ): number
  products_of(
    rows: number,
    scales: number,
    list: number,
    count: number,
    query: number,
    blocks: number,
    out: number,
    steps: number,
  ): void
  four_sums(query: number, row: number, stride: number, out: number): void
}

/** `vector-kernel.wasm`, one instance for each arena, made when first needed. */
class SimdKernel implements VectorKernel {
  readonly #memories: readonly WebAssembly.Memory[]
  readonly #module = new WebAssembly.Module(readFileSync(new URL('vector-kernel.wasm', import.meta.url)))
  readonly #instances = new Map<WebAssembly.Memory, KernelExports>()
  readonly #scratch = new WebAssembly.Memory({ initial: Math.ceil(scratchPages) })
  readonly #bytes = new Uint8Array(this.#scratch.buffer)
  readonly #list = new Uint16Array(this.#scratch.buffer as ArrayBuffer, listAt, segmentChunksMax)
  readonly nearRows = this.#list
  readonly nearDistances = new Uint16Array(this.#scratch.buffer as ArrayBuffer, nearAt, segmentChunksMax)
  readonly counts = new Uint32Array(this.#scratch.buffer as ArrayBuffer, countsAt, countsMax)
  readonly #visible = new Uint32Array(this.#scratch.buffer as ArrayBuffer, visibleAt, segmentChunksMax / 32)
  readonly #products: Products = {
    products: new Int32Array(this.#scratch.buffer as ArrayBuffer, outAt, segmentChunksMax),
    scales: new Float32Array(this.#scratch.buffer as ArrayBuffer, scalesAt, segmentChunksMax),
  }
  readonly #vector = new Float64Array(this.#scratch.buffer as ArrayBuffer, vectorAt, componentsMax)
  readonly #floatRows = new Float32Array(this.#scratch.buffer as ArrayBuffer, floatRowsAt, floatRows * componentsMax)
  readonly #floatSums = new Float64Array(this.#scratch.buffer as ArrayBuffer, floatSumsAt, floatRows * 2)

  constructor(memories: readonly WebAssembly.Memory[]) {
    this.#memories = memories
  }

  setQuery({ signTables, components }: PackedQuery): void {
    this.#bytes.set(signTables, tablesAt)
    this.#bytes.set(new Uint8Array(components.buffer, components.byteOffset, components.byteLength), componentsAt)
  }

  setVisible(bits: Uint32Array): void {
    this.#visible.set(bits)
  }

  near({ column, place }: OpenColumn, first: number, count: number, limit: number, at: number): number {
    const { bitsAt, signBytes } = column.layout
    const { arena, offset } = place.block
    return this.#exportsFor(arena).near(
      offset + bitsAt + first * signBytes,
      count,
      tablesAt,
      signBytes,
      limit,
      first,
      visibleAt + first / 8,
      offset + first,
      listAt + at * 2,
      nearAt + at * 2,
      countsAt,
    )
  }

  productsOf({ column, place }: OpenColumn, list: Uint16Array): Products {
    const { bytesAt, bytesStride, scaleAt } = column.layout
    const { arena, offset } = place.block
    this.#list.set(list)
    const kernel = this.#exportsFor(arena)
    const blocks = bytesStride / 16
    kernel.products_of(offset + bytesAt, offset + scaleAt, listAt, list.length, componentsAt, blocks, outAt, scalesAt)
    return this.#products
  }

  cosinesOf(vector: Float32Array, rows: readonly Float32Array[]): Float64Array {
    // Nothing is read from the arena, so that any will do.
    const kernel = this.#exportsFor(0)
    this.#vector.set(vector)
    const squaresOfVector = squaresOf(vector)
    const cosines = new Float64Array(rows.length)
    for (let from = 0; from < rows.length; from += floatRows) {
      const some = Math.min(floatRows, rows.length - from)
      for (let i = 0; i < some; i++) this.#floatRows.set(rows[from + i]!, i * vector.length)
      kernel.four_sums(vectorAt, floatRowsAt, vector.length * 4, floatSumsAt)
      for (let i = 0; i < some; i++) {
        cosines[from + i] = this.#floatSums[i]! / Math.sqrt(squaresOfVector * this.#floatSums[floatRows + i]!)
      }
    }
    return cosines
  }

  #exportsFor(arena: number): KernelExports {
    const memory = this.#memories[arena]!
    let found = this.#instances.get(memory)
    if (found === undefined) {
      const imports = { arena: { memory }, scratch: { memory: this.#scratch } }
      found = new WebAssembly.Instance(this.#module, imports).exports as unknown as KernelExports
      this.#instances.set(memory, found)
    }
    return found
  }
}

/** The same in JavaScript, for machines without WebAssembly SIMD and as the measure of the other. */
class PlainKernel implements VectorKernel {
  readonly nearRows = new Uint16Array(segmentChunksMax)
  readonly nearDistances = new Uint16Array(segmentChunksMax)
  readonly #products: Products = {
    products: new Int32Array(segmentChunksMax),
    scales: new Float32Array(segmentChunksMax),
  }
  readonly counts = new Uint32Array(countsMax)
  #visible = new Uint32Array(0)
  #signTables = new Uint8Array(0)
  #components = new Int16Array(0)

  setQuery({ signTables, components }: PackedQuery): void {
    this.#signTables = signTables.slice()
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
    const stride = column.layout.bytesStride
    const { products, scales } = this.#products
    list.forEach((row, i) => {
      let sum = 0
      for (let at = 0; at < stride; at++) sum += column.bytes[row * stride + at]! * this.#components[at]!
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
    const { bits, layout } = column
    let at = firstBitsOf(row, layout)
    let sum = 0
    for (let table = 0; table < this.#signTables.length; table += 32, at += groupRows) {
      const signs = bits[at]!
      sum += this.#signTables[table + (signs & 15)]! + this.#signTables[table + 16 + (signs >>> 4)]!
    }
    return sum
  }
}

function squaresOf(vector: Float32Array): number {
  let squares = 0
  for (let i = 0; i < vector.length; i++) squares += vector[i]! * vector[i]!
  return squares
}
