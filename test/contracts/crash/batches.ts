import type { IndexBatch, IndexChange } from '../../../src/indexing/fed-index.ts'
import { plainColumns } from '../../support/plain-columns.ts'
import { fieldOf } from '../index-under-test.ts'

const words = ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta']
export const dimensions = 8
export const layout = { sealChunks: 40, segmentChunks: 200, mergeFanIn: 2, readers: 1 }

/** The batch at a position, always the same: some documents are put, retired, moved or given vectors. */
export function batchAt(position: number): IndexBatch {
  let state = position >>> 0
  const draw = (below: number) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0
    return (state >>> 8) % below
  }
  const vector = () => Array.from({ length: dimensions }, () => draw(21) - 10.5)
  const columns = () => ({ ...plainColumns, datasetId: `d${draw(3)}`, platform: 'web', publishedAt: draw(1000) })
  const text = () => fieldOf(Array.from({ length: 3 + draw(20) }, () => words[draw(words.length)]!).join(' '))
  const change = (): IndexChange => {
    const documentId = `doc${draw(120)}`
    const versionId = `${documentId}v${draw(3)}`
    const kind = draw(10)
    if (kind === 0) return { kind: 'retire_document', documentId }
    if (kind === 1) return { kind: 'set_columns', documentId, columns: columns() }
    if (kind === 2)
      return { kind: 'set_vector', documentId, chunkId: `${versionId}c0`, profileId: 'p', vector: vector() }
    return {
      kind: 'put_version',
      documentId,
      versionId,
      columns: columns(),
      current: draw(4) > 0,
      title: text(),
      chunks: Array.from({ length: draw(4) }, (_, i) => ({
        chunkId: `${versionId}c${i}`,
        body: text(),
        vectors: draw(2) === 0 ? [] : [{ profileId: 'p', vector: vector() }],
      })),
    }
  }
  return { position, changes: Array.from({ length: 1 + draw(8) }, change) }
}

export const askedWords = words
