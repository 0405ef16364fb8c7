import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { plainColumns } from '../../test/support/plain-columns.ts'
import { newId } from '../ids.ts'
import { feedIndex } from './feed-index.ts'
import type { IndexSource, SourceDocument } from './index-source.ts'
import { preparePortion } from './prepare-portion.ts'
import type { IndexBatch, SearchIndex } from './search-index.ts'

const documentOf = (revision: number, body: string): SourceDocument => ({
  documentId: newId('doc'),
  revision,
  columns: plainColumns,
  versions: [{ versionId: newId('ver'), current: true, language: 'en', title: 't', body, vectors: [] }],
})

function stage(documents: readonly SourceDocument[]) {
  const steps: string[] = []
  const documentsAfter: IndexSource['documentsAfter'] = async (position, most) =>
    documents.filter(({ revision }) => revision > position).slice(0, most.documents)
  const source = {
    preparedAfter: (...asked) => preparePortion({ documentsAfter }, ...asked),
    putChunks: async (chunks) => void steps.push(`keep ${chunks.length}`),
  } satisfies Partial<IndexSource> as unknown as IndexSource
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
    assert.deepEqual(await feedIndex(source, index, 8, 'each'), {
      position: 8,
      documents: 0,
      chunks: [],
      isBehind: false,
    })
  })

  test('an index of this process gets a few documents at once, one that is elsewhere many', async () => {
    const documents = Array.from({ length: 300 }, (_, i) => documentOf(i + 1, 'One.'))
    const { steps, source, index } = stage(documents)
    await feedIndex(source, index, 0, 'each')
    await feedIndex(source, index, 0, 'one')
    const few = [64, 128, 192, 256].flatMap((to) => ['keep 64', `index 64 to ${to}`])
    assert.deepEqual(steps, [...few, 'keep 256', 'index 256 to 256'])
  })

  test('while one portion is being written the next is read, and no further than the step goes', async () => {
    const { steps, source, index } = stage(Array.from({ length: 300 }, (_, i) => documentOf(i + 1, 'One.')))
    const watched = {
      ...source,
      preparedAfter: (...asked: Parameters<IndexSource['preparedAfter']>) => {
        steps.push(`read after ${asked[0]}${asked[1].isBehind ? ', one of many' : ''}`)
        return source.preparedAfter(...asked)
      },
    }
    const step = await feedIndex(watched, index, 0, 'each')
    assert.deepEqual([step.position, step.documents, step.chunks.length], [256, 256, 256])
    assert.deepEqual(
      steps.filter((one) => !one.startsWith('keep')),
      [
        'read after 0',
        'read after 64, one of many',
        'index 64 to 64',
        'read after 128, one of many',
        'index 64 to 128',
        'read after 192, one of many',
        'index 64 to 192',
        'index 64 to 256',
      ],
    )
    steps.length = 0
    const last = await feedIndex(watched, index, 256, 'each', step)
    assert.deepEqual([last.position, last.documents, last.isBehind], [300, 44, false])
    assert.deepEqual(steps, ['read after 256, one of many', 'keep 44', 'index 44 to 300'])
  })

  test('what was written before a portion failed is where the index stands', async () => {
    const { steps, source, index } = stage(Array.from({ length: 300 }, (_, i) => documentOf(i + 1, 'One.')))
    const apply: SearchIndex['apply'] = (batch) =>
      (batch.position ?? 0) > 64 ? Promise.resolve({ outcome: 'unavailable', reason: 'damaged' }) : index.apply(batch)
    await assert.rejects(feedIndex(source, { ...index, apply } as SearchIndex, 0, 'each'), /damaged/)
    assert.deepEqual(steps, ['keep 64', 'index 64 to 64', 'keep 64'])
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
