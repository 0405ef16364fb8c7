import { EmbeddingError } from './embedding-error.ts'

/** Why one text of a call got no vector while others may have one. */
export type TextFault = 'rejected_text' | 'unusable_vector'

/**
 * Checks the raw vector of a model and scales it, in place, to length 1.
 *
 * The length is summed in float64, where the square of a float32 neither overflows nor underflows: the sum is finite
 * exactly if every component is, and 0 exactly if all are.
 */
export function normaliseVector(vector: Float32Array, dimensions: number): Float32Array | 'unusable_vector' {
  if (vector.length !== dimensions) {
    throw new EmbeddingError(
      'wrong_dimensions',
      `a vector of ${vector.length} dimensions was returned, but the profile has ${dimensions}`,
    )
  }
  let sum = 0
  for (const value of vector) sum += value * value
  if (!Number.isFinite(sum)) {
    throw new EmbeddingError('bad_answer', 'a vector has a number that is not finite')
  }
  if (sum === 0) return 'unusable_vector'
  const scale = 1 / Math.sqrt(sum)
  for (let i = 0; i < vector.length; i++) vector[i] = vector[i]! * scale
  return vector
}

/** Returns the vectors of a call. Throws an error that names every text at fault. */
export function vectorsOrFault(results: readonly (Float32Array | TextFault)[]): Float32Array[] {
  const vectors: Float32Array[] = []
  const textIndexes: number[] = []
  let rejected = 0
  for (const [index, result] of results.entries()) {
    if (typeof result !== 'string') vectors.push(result)
    else textIndexes.push(index)
    if (result === 'rejected_text') rejected++
  }
  if (textIndexes.length === 0) return vectors
  const code = rejected > 0 ? 'rejected_text' : 'unusable_vector'
  const zero = textIndexes.length - rejected
  const message = `of ${results.length} texts the model refused ${rejected} and gave ${zero} a vector of zeros`
  throw new EmbeddingError(code, message, { textIndexes })
}
