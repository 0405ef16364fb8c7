import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { plainColumns } from '../../test/support/plain-columns.ts'
import { newId } from '../ids.ts'
import { feedIndex } from './feed-index.ts'
import type { ChunkRecord, IndexSource, SourceDocument } from './index-source.ts'
import type { IndexBatch, SearchIndex } from './search-index.ts'

const documentOf = (revision: number, body: string): SourceDocument => ({
  documentId: newId('doc'),
  revision,
  columns: plainColumns,
  versions: [{ versionId: newId('ver'), current: true, language: 'en', title: 't', body, vectors: [] }],
})

function stage(documents: readonly SourceDocument[]) {
  const steps: string[] = []
  const source = {
    documentsAfter: async (position: number, most: { documents: number }) =>
      documents.filter(({ revision }) => revision > position).slice(0, most.documents),
    putChunks: async (chunks: readonly ChunkRecord[]) => void steps.push(`keep ${chunks.length}`),
  } as unknown as IndexSource
  const index = {
    apply: async ({ position, changes }: IndexBatch) => {
      steps.push(`index ${changes.length} to ${position}`)
      return { outcome: 'applied' }
    },
  } as unknown as SearchIndex
  return { steps, source, index }
}

suite('a step of the index along the store', () => {
  test('chunks are kept before the index learns of them; the position is that of the last document', async () => {
    const { steps, source, index } = stage([documentOf(3, 'One.'), documentOf(8, 'Two.')])
    const step = await feedIndex(source, index, 0, 'each')
    assert.deepEqual(steps, ['keep 2', 'index 2 to 8'])
    assert.deepEqual([step.position, step.documents, step.chunks.length], [8, 2, 2])
    assert.deepEqual(await feedIndex(source, index, 8, 'each'), { position: 8, documents: 0, chunks: [] })
  })

  test('an index of this process gets a few documents at once, one that is elsewhere many', async () => {
    const documents = Array.from({ length: 300 }, (_, i) => documentOf(i + 1, 'One.'))
    const { steps, source, index } = stage(documents)
    await feedIndex(source, index, 0, 'each')
    await feedIndex(source, index, 0, 'one')
    assert.deepEqual(steps, ['keep 64', 'index 64 to 64', 'keep 256', 'index 256 to 256'])
  })

  test('an index that cannot take them is an error, and the position stays', async () => {
    const { source } = stage([documentOf(3, 'One.')])
    const index = { apply: async () => ({ outcome: 'unavailable', reason: 'damaged' }) } as unknown as SearchIndex
    await assert.rejects(feedIndex(source, index, 0, 'each'), /damaged/)
  })

  test('a long document does not hold the thread until it is done', async () => {
    const { source, index } = stage([documentOf(1, 'A sentence of some words stands here. '.repeat(10_000))])
    let turns = 0
    let done = false
    const others = (async () => {
      while (!done) {
        turns++
        await new Promise((resolve) => setImmediate(resolve))
      }
    })()
    await feedIndex(source, index, 0, 'each')
    done = true
    await others
    assert.ok(turns > 10, `${turns} turns`)
  })
})
