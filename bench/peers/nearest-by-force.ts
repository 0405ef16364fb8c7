import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { corpus } from '../corpus/corpus.ts'
import { progress } from '../support/progress.ts'

/**
 * Finds the documents nearest to each vector by comparing every chunk of the corpus. Yields to the event loop now and
 * then, so that this process notices connections that servers close meanwhile.
 */
export async function nearestByForce(
  chunks: number,
  vectors: readonly (readonly number[])[],
  limit: number,
): Promise<Set<string>[]> {
  const queries = vectors.map((vector) => Float32Array.from(vector, (value) => value / Math.hypot(...vector)))
  const nearest = queries.map(() => [] as { readonly documentId: string; readonly cosine: number }[])
  let seen = 0
  for (const { documentId, chunks: some } of corpus(chunks, true)) {
    if (seen % 10_000 < some.length) {
      progress(`compared ${seen} of ${chunks} chunks one by one`)
      await yieldToEventLoop()
    }
    seen += some.length
    const unit = some.map(({ vectors: [one] }) => Float32Array.from(one!.vector))
    for (const vector of unit) normalise(vector)
    for (const [i, query] of queries.entries()) {
      const cosine = Math.max(...unit.map((vector) => product(query, vector)))
      const best = nearest[i]!
      if (best.length === limit && cosine <= best.at(-1)!.cosine) continue
      const position = best.findIndex((other) => other.cosine < cosine)
      best.splice(position < 0 ? best.length : position, 0, { documentId, cosine })
      if (best.length > limit) best.pop()
    }
  }
  progress('')
  return nearest.map((best) => new Set(best.map(({ documentId }) => documentId)))
}

function normalise(vector: Float32Array): void {
  const length = Math.sqrt(product(vector, vector))
  for (let i = 0; i < vector.length; i++) vector[i]! /= length
}

function product(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!
  return sum
}
