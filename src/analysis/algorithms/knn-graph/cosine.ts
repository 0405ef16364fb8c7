export interface Nodes {
  readonly count: number
  readonly dimensions: number
  /** Row by row. */
  readonly vectors: Float32Array
}

/** Returns the squared length of every row, in 64 bits. */
export function squaresOf({ count, dimensions, vectors }: Nodes): Float64Array {
  return Float64Array.from({ length: count }, (_, row) => dot(vectors, row * dimensions, row * dimensions, dimensions))
}

/**
 * Computes the cosine of two rows in 64 bits from the stored vectors. Neither may be all zeros. The result is exactly 1
 * for equal vectors, because the square root of a square is exact.
 */
export function cosine({ vectors, dimensions }: Nodes, squares: Float64Array, row: number, other: number): number {
  const product = dot(vectors, row * dimensions, other * dimensions, dimensions)
  return Math.max(-1, Math.min(1, product / Math.sqrt(squares[row]! * squares[other]!)))
}

/** Keeps four sums, so that an addition need not wait for the previous one. The order is always the same. */
function dot(vectors: Float32Array, left: number, right: number, dimensions: number): number {
  let a = 0
  let b = 0
  let c = 0
  let d = 0
  const whole = dimensions & ~3
  let i = 0
  for (; i < whole; i += 4) {
    a += vectors[left + i]! * vectors[right + i]!
    b += vectors[left + i + 1]! * vectors[right + i + 1]!
    c += vectors[left + i + 2]! * vectors[right + i + 2]!
    d += vectors[left + i + 3]! * vectors[right + i + 3]!
  }
  for (; i < dimensions; i++) a += vectors[left + i]! * vectors[right + i]!
  return a + b + (c + d)
}
