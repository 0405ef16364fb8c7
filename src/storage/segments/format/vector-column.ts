/**
 * The vectors of one profile in one segment, quantised: binary codes (1-bit quantisation, the signs of the components),
 * and int8 codes with a scale for each vector. The floats stay in the durable file and are read to rescore the last few
 * hundred candidates.
 *
 * Layout: `present` (one byte for each row), `scale` (one float for each row), binary codes and int8 codes. The binary
 * codes of 16 rows are interleaved: the first byte of each row, then the second of each, so that the kernel looks up 16
 * rows in one step. A row of int8 codes is padded to 16 bytes, so that it needs no special case at the end. A row is
 * written before its `present` byte. A search that reads a row while it is rewritten may misjudge that chunk in the
 * quantised steps; the last step reads its floats.
 *
 * The file has a row for every chunk. A column that would be mostly empty, such as that of a model for one of many
 * languages, has rows in memory only for chunks with a vector, and a list of these chunks after the int8 codes.
 */
export interface ColumnLayout {
  readonly rows: number
  readonly dimensions: number
  /** The bytes of a row's binary code: an even number. */
  readonly codeBytes: number
  readonly int8Stride: number
  readonly scaleAt: number
  readonly codesAt: number
  readonly int8At: number
  readonly total: number
}

/** A column with rows for some of the chunks. */
export interface SparseLayout extends ColumnLayout {
  readonly chunksAt: number
}

/** Vectors with more components are refused. */
export const dimensionsMax = 8192

/** Rows whose binary codes are interleaved. */
export const groupRows = 16

const paddedTo16 = (bytes: number): number => (bytes + 15) & ~15

export function columnLayout(rows: number, dimensions: number): ColumnLayout {
  const codeBytes = 2 * Math.ceil(dimensions / 16)
  const int8Stride = paddedTo16(dimensions)
  const scaleAt = paddedTo16(rows)
  const codesAt = scaleAt + paddedTo16(rows * 4)
  const int8At = codesAt + Math.ceil(rows / groupRows) * groupRows * codeBytes
  const total = int8At + rows * int8Stride
  return { rows, dimensions, codeBytes, int8Stride, scaleAt, codesAt, int8At, total }
}

export function sparseLayout(rows: number, dimensions: number): SparseLayout {
  const layout = columnLayout(rows, dimensions)
  return { ...layout, chunksAt: layout.total, total: layout.total + rows * Uint16Array.BYTES_PER_ELEMENT }
}

export class VectorColumn {
  readonly layout: ColumnLayout
  readonly raw: Uint8Array<ArrayBufferLike>
  readonly present: Uint8Array<ArrayBufferLike>
  readonly scale: Float32Array<ArrayBufferLike>
  readonly binaryCodes: Uint8Array<ArrayBufferLike>
  readonly int8Codes: Int8Array<ArrayBufferLike>
  /** The chunk of each row, ascending; `null` if the row of every chunk has its number. */
  readonly chunks: Uint16Array<ArrayBufferLike> | null

  /** `raw` must be aligned to 16 bytes in its buffer and as long as the layout says. */
  constructor(layout: ColumnLayout | SparseLayout, raw: Uint8Array<ArrayBufferLike>) {
    this.layout = layout
    this.raw = raw
    const { buffer, byteOffset } = raw
    const { rows } = layout
    this.present = new Uint8Array(buffer, byteOffset, rows)
    this.scale = new Float32Array(buffer, byteOffset + layout.scaleAt, rows)
    this.binaryCodes = new Uint8Array(buffer, byteOffset + layout.codesAt, layout.int8At - layout.codesAt)
    this.int8Codes = new Int8Array(buffer, byteOffset + layout.int8At, rows * layout.int8Stride)
    this.chunks = 'chunksAt' in layout ? new Uint16Array(buffer, byteOffset + layout.chunksAt, rows) : null
  }

  /** The row of a chunk, or -1 if it has none. */
  rowOf(chunk: number): number {
    return this.chunks === null ? chunk : positionIn(this.chunks, chunk)
  }

  chunkOf(row: number): number {
    return this.chunks === null ? row : this.chunks[row]!
  }

  /** Whether the chunk has a vector. */
  has(chunk: number): boolean {
    return this.present[this.rowOf(chunk)] === 1
  }

  /** The chunk must have a row. */
  set(chunk: number, vector: Float32Array): void {
    const { codeBytes, int8Stride } = this.layout
    const row = this.rowOf(chunk)
    const first = codeStartOf(row, this.layout)
    for (let byte = 0; byte < codeBytes; byte++) this.binaryCodes[first + byte * groupRows] = codeOf(vector, byte * 8)
    const codes = this.int8Codes.subarray(row * int8Stride, (row + 1) * int8Stride)
    this.scale[row] = packInt8(vector, codes)
    this.present[row] = 1
  }

  /** Both columns must have a row for their chunk. */
  copyRow(chunk: number, from: VectorColumn, fromChunk: number): void {
    const { codeBytes, int8Stride } = this.layout
    const row = this.rowOf(chunk)
    const fromRow = from.rowOf(fromChunk)
    const first = codeStartOf(row, this.layout)
    const fromFirst = codeStartOf(fromRow, from.layout)
    for (let at = 0; at < codeBytes * groupRows; at += groupRows)
      this.binaryCodes[first + at] = from.binaryCodes[fromFirst + at]!
    this.int8Codes.set(from.int8Codes.subarray(fromRow * int8Stride, (fromRow + 1) * int8Stride), row * int8Stride)
    this.scale[row] = from.scale[fromRow]!
    this.present[row] = from.present[fromRow]!
  }

  /** Copies all rows of another column, which must be a subset of the rows here. */
  copyRows(from: VectorColumn): void {
    for (let row = 0; row < from.layout.rows; row++) {
      if (from.present[row] === 1) this.copyRow(from.chunkOf(row), from, from.chunkOf(row))
    }
  }
}

/** Returns the position of a number in an ascending list; -1 if it is not there. */
function positionIn(list: Uint16Array<ArrayBufferLike>, number: number): number {
  let low = 0
  let high = list.length - 1
  while (low <= high) {
    const middle = (low + high) >>> 1
    const found = list[middle]!
    if (found === number) return middle
    if (found < number) low = middle + 1
    else high = middle - 1
  }
  return -1
}

/** Returns a column in the form of the file, with a row for every chunk. */
export function withEveryRow(column: VectorColumn, chunks: number): Uint8Array<ArrayBuffer> {
  if (column.chunks === null) return Uint8Array.from(column.raw)
  const layout = columnLayout(chunks, column.layout.dimensions)
  const raw = new Uint8Array(layout.total)
  new VectorColumn(layout, raw).copyRows(column)
  return raw
}

/** Returns the chunks with a vector in a column of the file, if at most half of all have one; otherwise null. */
export function sparseChunks(raw: Uint8Array, chunks: number): Uint16Array | null {
  const found = new Uint16Array(chunks >>> 1)
  let count = 0
  for (let chunk = 0; chunk < chunks; chunk++) {
    if (raw[chunk] !== 1) continue
    if (count === found.length) return null
    found[count++] = chunk
  }
  return found.subarray(0, count)
}

/** The offset of the first byte of a row's binary code; the next one is `groupRows` further. */
export function codeStartOf(row: number, { codeBytes }: ColumnLayout): number {
  const inGroup = row % groupRows
  return (row - inGroup) * codeBytes + inGroup
}

/** Returns the code of eight components: a bit for each that is above 0, the first in the lowest bit. */
function codeOf(vector: Float32Array, from: number): number {
  let codes = 0
  for (let i = 0; i < 8; i++) if (vector[from + i]! > 0) codes |= 1 << i
  return codes
}

/** The codes of a row lie between this number and its negative. */
const int8Max = 127

/**
 * Writes the unit vector as integers of at most `max` and returns the scale: integer times scale approximates the
 * component of the unit vector, with an error of at most half the scale.
 */
function packScaled(vector: ArrayLike<number>, into: Int8Array<ArrayBufferLike> | Int16Array, max: number): number {
  let largest = 0
  let squares = 0
  for (let i = 0; i < vector.length; i++) {
    largest = Math.max(largest, Math.abs(vector[i]!))
    squares += vector[i]! * vector[i]!
  }
  into.fill(0)
  for (let i = 0; i < vector.length; i++) into[i] = Math.round((vector[i]! / largest) * max)
  return largest / max / Math.sqrt(squares)
}

/** Writes a row of int8 codes. */
function packInt8(vector: ArrayLike<number>, into: Int8Array<ArrayBufferLike>): number {
  return packScaled(vector, into, int8Max)
}

/** A query in the forms that are compared with binary codes and with int8 codes. */
export interface PackedQuery {
  /**
   * A table for every four components: for each of the 16 possible codes of a row, the sum of the weights of the
   * components that differ from the query's. The weight of a component is its size, which is what it adds to the
   * cosine.
   */
  readonly codeTables: Uint8Array
  /** The sum of all weights, which no distance exceeds. */
  readonly farthest: number
  /**
   * As precise as possible while products with int8 codes fit 32 bits. Their error is negligible beside that of the
   * row.
   */
  readonly components: Int16Array
  /** Component times scale approximates that of the unit vector. */
  readonly scale: number
}

/** The sum of 16 components, four tables, must fit a byte, and the sum of all components 16 bits. */
const weightMax = 15
const farthestMax = 2 ** 16 - 1
const tableEntries = 16

export function packQuery(vector: Float32Array): PackedQuery {
  const { codeBytes, int8Stride } = columnLayout(0, vector.length)
  const heaviest = Math.min(weightMax, Math.floor(farthestMax / vector.length))
  const largest = vector.reduce((max, component) => Math.max(max, Math.abs(component)), 0)
  const codeTables = new Uint8Array(codeBytes * 2 * tableEntries)
  let farthest = 0
  vector.forEach((component, i) => {
    const weight = Math.round((Math.abs(component) / largest) * heaviest)
    farthest += weight
    const table = Math.floor(i / 4) * tableEntries
    for (let codes = 0; codes < tableEntries; codes++) {
      const isPositive = ((codes >>> (i & 3)) & 1) === 1
      if (isPositive !== component > 0) codeTables[table + codes]! += weight
    }
  })
  const components = new Int16Array(int8Stride)
  const max = Math.min(Math.floor((2 ** 31 - 1) / int8Max / vector.length), 2 ** 15 - 1)
  return { codeTables, farthest, components, scale: packScaled(vector, components, max) }
}

/** Returns the vector as it is stored, or `null` if it cannot be compared: not finite, all zero, or of another size. */
export function usableVector(vector: ArrayLike<number>, dimensions: number | null): Float32Array | null {
  if (vector.length === 0 || (dimensions !== null && vector.length !== dimensions)) return null
  const floats = Float32Array.from(vector)
  let squares = 0
  for (const component of floats) squares += component * component
  return squares > 0 && Number.isFinite(squares) ? floats : null
}
