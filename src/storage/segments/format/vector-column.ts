/**
 * The vectors of one profile in one segment, in coarse form: sign bits, and bytes with a scale for each vector. The
 * floats stay in the durable file and are read for the last few hundred candidates.
 *
 * Layout: `present` (a byte a row), `scale` (a float a row), bits and bytes. The bits of 16 rows stand together: the
 * first byte of each, then the second of each, so that the kernel looks up 16 rows in one step. A row of bytes is padded
 * to 16, so that it needs no special case at the end. A row is written before its `present` byte; a search that meets a
 * row while it is written again may misjudge that one chunk in the coarse steps, and the last step reads its floats.
 *
 * The file has a row for every chunk. In memory a column of which most would be empty, as that of a model for one language
 * among many, has rows for the chunks with a vector alone, and a list of them behind the bytes.
 */
export interface ColumnLayout {
  readonly rows: number
  readonly dimensions: number
  /** Bytes that the signs of a row take: an even number. */
  readonly signBytes: number
  readonly bytesStride: number
  readonly scaleAt: number
  readonly bitsAt: number
  readonly bytesAt: number
  readonly total: number
}

/** A column with rows for some of the chunks. */
export interface SparseLayout extends ColumnLayout {
  readonly chunksAt: number
}

/** Rows whose bits stand together. */
export const groupRows = 16

const paddedTo16 = (bytes: number): number => (bytes + 15) & ~15

export function columnLayout(rows: number, dimensions: number): ColumnLayout {
  const signBytes = 2 * Math.ceil(dimensions / 16)
  const bytesStride = paddedTo16(dimensions)
  const scaleAt = paddedTo16(rows)
  const bitsAt = scaleAt + paddedTo16(rows * 4)
  const bytesAt = bitsAt + Math.ceil(rows / groupRows) * groupRows * signBytes
  const total = bytesAt + rows * bytesStride
  return { rows, dimensions, signBytes, bytesStride, scaleAt, bitsAt, bytesAt, total }
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
  readonly bits: Uint8Array<ArrayBufferLike>
  readonly bytes: Int8Array<ArrayBufferLike>
  /** By row its chunk, ascending; `null` where every chunk has the row of its number. */
  readonly chunks: Uint16Array<ArrayBufferLike> | null

  /** `raw` must be aligned to 16 bytes in its buffer and as long as the layout says. */
  constructor(layout: ColumnLayout | SparseLayout, raw: Uint8Array<ArrayBufferLike>) {
    this.layout = layout
    this.raw = raw
    const { buffer, byteOffset } = raw
    const { rows } = layout
    this.present = new Uint8Array(buffer, byteOffset, rows)
    this.scale = new Float32Array(buffer, byteOffset + layout.scaleAt, rows)
    this.bits = new Uint8Array(buffer, byteOffset + layout.bitsAt, layout.bytesAt - layout.bitsAt)
    this.bytes = new Int8Array(buffer, byteOffset + layout.bytesAt, rows * layout.bytesStride)
    this.chunks = 'chunksAt' in layout ? new Uint16Array(buffer, byteOffset + layout.chunksAt, rows) : null
  }

  /** The row of a chunk, or -1 for one that has none. */
  rowOf(chunk: number): number {
    return this.chunks === null ? chunk : placeOf(this.chunks, chunk)
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
    const { signBytes, bytesStride } = this.layout
    const row = this.rowOf(chunk)
    const first = firstBitsOf(row, this.layout)
    for (let byte = 0; byte < signBytes; byte++) this.bits[first + byte * groupRows] = signsOf(vector, byte * 8)
    const bytes = this.bytes.subarray(row * bytesStride, (row + 1) * bytesStride)
    this.scale[row] = packBytes(vector, bytes)
    this.present[row] = 1
  }

  /** Both must have a row for their chunk. */
  copyRow(chunk: number, from: VectorColumn, fromChunk: number): void {
    const { signBytes, bytesStride } = this.layout
    const row = this.rowOf(chunk)
    const fromRow = from.rowOf(fromChunk)
    const first = firstBitsOf(row, this.layout)
    const fromFirst = firstBitsOf(fromRow, from.layout)
    for (let at = 0; at < signBytes * groupRows; at += groupRows) this.bits[first + at] = from.bits[fromFirst + at]!
    this.bytes.set(from.bytes.subarray(fromRow * bytesStride, (fromRow + 1) * bytesStride), row * bytesStride)
    this.scale[row] = from.scale[fromRow]!
    this.present[row] = from.present[fromRow]!
  }

  /** All rows of another column that has none which this one lacks. */
  copyRows(from: VectorColumn): void {
    for (let row = 0; row < from.layout.rows; row++) {
      if (from.present[row] === 1) this.copyRow(from.chunkOf(row), from, from.chunkOf(row))
    }
  }
}

/** Where a number stands in an ascending list; -1 where it does not. */
function placeOf(list: Uint16Array<ArrayBufferLike>, number: number): number {
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

/** A column as the file has it, with a row for every chunk. */
export function withEveryRow(column: VectorColumn, chunks: number): Uint8Array<ArrayBuffer> {
  if (column.chunks === null) return Uint8Array.from(column.raw)
  const layout = columnLayout(chunks, column.layout.dimensions)
  const raw = new Uint8Array(layout.total)
  new VectorColumn(layout, raw).copyRows(column)
  return raw
}

/** The chunks that have a vector in a column of the file, where they are so few that they are worth a list of them. */
export function fewWithVector(raw: Uint8Array, chunks: number): Uint16Array | null {
  const found = new Uint16Array(chunks >>> 1)
  let count = 0
  for (let chunk = 0; chunk < chunks; chunk++) {
    if (raw[chunk] !== 1) continue
    if (count === found.length) return null
    found[count++] = chunk
  }
  return found.subarray(0, count)
}

/** Where the first byte of a row's bits is; the next is `groupRows` further. */
export function firstBitsOf(row: number, { signBytes }: ColumnLayout): number {
  const inGroup = row % groupRows
  return (row - inGroup) * signBytes + inGroup
}

/** Of eight components: a bit for each that is above 0, the first the lowest. */
function signsOf(vector: Float32Array, from: number): number {
  let signs = 0
  for (let i = 0; i < 8; i++) if (vector[from + i]! > 0) signs |= 1 << i
  return signs
}

/** The largest signed byte: a row's components lie between it and its negative. */
const byteMax = 127

/**
 * Writes the direction of the vector as whole numbers of at most `most` and returns the scale: number times scale is
 * about the component of the vector of length 1, half a scale away at most.
 */
function packScaled(vector: ArrayLike<number>, into: Int8Array<ArrayBufferLike> | Int16Array, most: number): number {
  let largest = 0
  let squares = 0
  for (let i = 0; i < vector.length; i++) {
    largest = Math.max(largest, Math.abs(vector[i]!))
    squares += vector[i]! * vector[i]!
  }
  into.fill(0)
  for (let i = 0; i < vector.length; i++) into[i] = Math.round((vector[i]! / largest) * most)
  return largest / most / Math.sqrt(squares)
}

/** A row as signed bytes. */
function packBytes(vector: ArrayLike<number>, into: Int8Array<ArrayBufferLike>): number {
  return packScaled(vector, into, byteMax)
}

/** A query in the forms in which it is compared. */
export interface PackedQuery {
  /**
   * By four components: for each of the 16 ways in which the signs of a row can stand there, the weights of those that
   * differ from the query's, added up. A component weighs what it adds to the cosine: its size.
   */
  readonly signTables: Uint8Array
  /** The weights of all components: no row is farther. */
  readonly farthest: number
  /** As fine as products with a row of bytes fit 32 bits: next to the row's error their own is nothing. */
  readonly components: Int16Array
  /** Component times scale is about that of the vector of length 1. */
  readonly scale: number
}

/** Those of 16 components, four tables, must fit a byte together, and those of all components 16 bits. */
const weightMax = 15
const farthestMax = 2 ** 16 - 1
const tableEntries = 16

export function packQuery(vector: Float32Array): PackedQuery {
  const { signBytes, bytesStride } = columnLayout(0, vector.length)
  const heaviest = Math.min(weightMax, Math.floor(farthestMax / vector.length))
  const largest = vector.reduce((most, component) => Math.max(most, Math.abs(component)), 0)
  const signTables = new Uint8Array(signBytes * 2 * tableEntries)
  let farthest = 0
  vector.forEach((component, i) => {
    const weight = Math.round((Math.abs(component) / largest) * heaviest)
    farthest += weight
    const table = Math.floor(i / 4) * tableEntries
    for (let signs = 0; signs < tableEntries; signs++) {
      const isPositive = ((signs >>> (i & 3)) & 1) === 1
      if (isPositive !== component > 0) signTables[table + signs]! += weight
    }
  })
  const components = new Int16Array(bytesStride)
  const most = Math.min(Math.floor((2 ** 31 - 1) / byteMax / vector.length), 2 ** 15 - 1)
  return { signTables, farthest, components, scale: packScaled(vector, components, most) }
}

/** A vector as it is kept, or `null` for one that cannot be compared: not finite, all zero, or of another size. */
export function usableVector(vector: ArrayLike<number>, dimensions: number | null): Float32Array | null {
  if (vector.length === 0 || (dimensions !== null && vector.length !== dimensions)) return null
  const floats = Float32Array.from(vector)
  let squares = 0
  for (const component of floats) squares += component * component
  return squares > 0 && Number.isFinite(squares) ? floats : null
}
