import { EmbeddingError } from './embedding-error.ts'

const bad = (what: string): EmbeddingError =>
  new EmbeddingError('bad_answer', `the embedding provider answered ${what}`)

function parseVector(value: unknown): Float32Array {
  if (!Array.isArray(value) || value.length === 0) throw bad('with something other than a list of numbers')
  // A typed array made from the list would turn null and text into numbers.
  for (const number of value) if (typeof number !== 'number') throw bad('with something other than a number')
  return Float32Array.from(value as number[])
}

/**
 * The vectors in a provider's answer, in the order of the texts. Each `index` must occur exactly once: in order of
 * arrival, vectors could be assigned to the wrong texts unnoticed.
 */
export function parseAnswer(body: string, count: number): Float32Array[] {
  let answer: unknown
  try {
    answer = JSON.parse(body)
  } catch {
    throw bad('with something other than JSON')
  }
  const data = typeof answer === 'object' && answer !== null && 'data' in answer ? answer.data : null
  if (!Array.isArray(data)) throw bad('without a list `data`')
  if (data.length !== count) throw bad(`with ${data.length} vectors for ${count} texts`)
  const vectors = new Array<Float32Array | undefined>(count).fill(undefined)
  for (const item of data as unknown[]) {
    if (typeof item !== 'object' || item === null || !('index' in item) || !('embedding' in item)) {
      throw bad('with an item without `index` or `embedding`')
    }
    const { index } = item
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= count) {
      throw bad('with an `index` outside the texts')
    }
    if (vectors[index] !== undefined) throw bad('with the same `index` twice')
    vectors[index] = parseVector(item.embedding)
  }
  // There are as many items as texts, and no index is repeated or out of range, so every position is filled.
  return vectors as Float32Array[]
}
