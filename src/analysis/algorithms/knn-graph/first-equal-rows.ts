import { createHash } from 'node:crypto'
import type { Nodes } from './cosine.ts'

/** Returns for every row the first row with exactly the same numbers. */
export function firstEqualRows({ count, dimensions, vectors }: Nodes): Int32Array {
  const first = new Map<string, number>()
  return Int32Array.from({ length: count }, (_, row) => {
    const bytes = new Uint8Array(vectors.buffer, vectors.byteOffset + row * dimensions * 4, dimensions * 4)
    const digest = createHash('sha256').update(bytes).digest('latin1')
    const found = first.get(digest)
    if (found !== undefined) return found
    first.set(digest, row)
    return row
  })
}
