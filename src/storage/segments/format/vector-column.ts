/**
 * The vectors of one profile in one segment, in coarse form: sign bits, and bytes with a scale for each vector. The
 * floats stay in the durable file and are read for the last few hundred candidates.
 *
 * Layout: `present` (a byte a chunk), `scale` (a float a chunk), bits and bytes, each row padded to 16 bytes so that the
 * kernel needs no special case at the end. A row is written before its `present` byte; a search that meets a row while
 * it is written again may misjudge that one chunk in the coarse steps, and the last step reads its floats.
 */
export interface ColumnLayout {
  readonly chunks: number
  readonly dimensions: number
  readonly bitsStride: number
  readonly bytesStride: number
  readonly scaleAt: number
  readonly bitsAt: number
  readonly bytesAt: number
  readonly total: number
}

const paddedTo16 = (bytes: number): number => (bytes + 15) & ~15

export function columnLayout(chunks: number, dimensions: number): ColumnLayout {
  const bitsStride = paddedTo16(Math.ceil(dimensions / 8))
  const bytesStride = paddedTo16(dimensions)
  const scaleAt = paddedTo16(chunks)
  const bitsAt = scaleAt + paddedTo16(chunks * 4)
  const bytesAt = bitsAt + chunks * bitsStride
  const total = bytesAt + chunks * bytesStride
  return { chunks, dimensions, bitsStride, bytesStride, scaleAt, bitsAt, bytesAt, total }
}

export class VectorColumn {
  readonly layout: ColumnLayout
  readonly raw: Uint8Array<ArrayBufferLike>
  readonly present: Uint8Array<ArrayBufferLike>
  readonly scale: Float32Array<ArrayBufferLike>
  readonly bits: Uint8Array<ArrayBufferLike>
  readonly bytes: Int8Array<ArrayBufferLike>

  /** `raw` must be aligned to 16 bytes in its buffer and as long as the layout says. */
  constructor(layout: ColumnLayout, raw: Uint8Array<ArrayBufferLike>) {
    this.layout = layout
    this.raw = raw
    const { buffer, byteOffset } = raw
    this.present = new Uint8Array(buffer, byteOffset, layout.chunks)
    this.scale = new Float32Array(buffer, byteOffset + layout.scaleAt, layout.chunks)
    this.bits = new Uint8Array(buffer, byteOffset + layout.bitsAt, layout.chunks * layout.bitsStride)
    this.bytes = new Int8Array(buffer, byteOffset + layout.bytesAt, layout.chunks * layout.bytesStride)
  }

  set(chunk: number, vector: Float32Array): void {
    const { bitsStride, bytesStride } = this.layout
    const bits = this.bits.subarray(chunk * bitsStride, (chunk + 1) * bitsStride)
    const bytes = this.bytes.subarray(chunk * bytesStride, (chunk + 1) * bytesStride)
    packSigns(vector, bits)
    this.scale[chunk] = packBytes(vector, bytes)
    this.present[chunk] = 1
  }

  copyRow(chunk: number, from: VectorColumn, fromChunk: number): void {
    const { bitsStride, bytesStride } = this.layout
    this.bits.set(from.bits.subarray(fromChunk * bitsStride, (fromChunk + 1) * bitsStride), chunk * bitsStride)
    this.bytes.set(from.bytes.subarray(fromChunk * bytesStride, (fromChunk + 1) * bytesStride), chunk * bytesStride)
    this.scale[chunk] = from.scale[fromChunk]!
    this.present[chunk] = from.present[fromChunk]!
  }
}

function packSigns(vector: ArrayLike<number>, into: Uint8Array<ArrayBufferLike>): void {
  into.fill(0)
  for (let i = 0; i < vector.length; i++) if (vector[i]! > 0) into[i >>> 3]! |= 1 << (i & 7)
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

/** A query in the forms in which it is compared, all padded like the rows. */
export interface PackedQuery {
  readonly bits: Uint8Array
  /** The components' sizes in four bits, a plane each, the highest first: what a sign that differs weighs. */
  readonly planes: Uint8Array
  /** As fine as products with a row of bytes fit 32 bits: next to the row's error their own is nothing. */
  readonly components: Int16Array
  /** Component times scale is about that of the vector of length 1. */
  readonly scale: number
}

/** The largest weight of a component. */
export const weightMax = 15

export function packQuery(vector: Float32Array): PackedQuery {
  const { bitsStride, bytesStride } = columnLayout(0, vector.length)
  const bits = new Uint8Array(bitsStride)
  packSigns(vector, bits)
  const planes = new Uint8Array(4 * bitsStride)
  const largest = vector.reduce((most, component) => Math.max(most, Math.abs(component)), 0)
  vector.forEach((component, i) => {
    const weight = Math.round((Math.abs(component) / largest) * weightMax)
    for (let plane = 0; plane < 4; plane++) {
      planes[plane * bitsStride + (i >>> 3)]! |= ((weight >>> (3 - plane)) & 1) << (i & 7)
    }
  })
  const components = new Int16Array(bytesStride)
  const most = Math.min(Math.floor((2 ** 31 - 1) / byteMax / vector.length), 2 ** 15 - 1)
  return { bits, planes, components, scale: packScaled(vector, components, most) }
}

/** A vector as it is kept, or `null` for one that cannot be compared: not finite, all zero, or of another size. */
export function usableVector(vector: ArrayLike<number>, dimensions: number | null): Float32Array | null {
  if (vector.length === 0 || (dimensions !== null && vector.length !== dimensions)) return null
  const floats = Float32Array.from(vector)
  let squares = 0
  for (const component of floats) squares += component * component
  return squares > 0 && Number.isFinite(squares) ? floats : null
}
