import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { plainColumns } from '../../test/support/plain-columns.ts'
import { newId } from '../platform/ids.ts'
import type { IndexBatch, SearchIndex } from './fed-index.ts'
import { feedIndex } from './feed-index.ts'
import type { IndexSource, SourceDocument } from './index-source.ts'
import { preparePortion } from './prepare-portion.ts'
import { changesOf } from './read-packed.ts'

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
    preparedAfter: (...args) => preparePortion({ documentsAfter }, ...args),
    putChunks: async (chunks) => void steps.push(`store ${chunks.length}`),
  } satisfies Partial<IndexSource> as unknown as IndexSource
  const index = {
    apply: async ({ position, changes }: IndexBatch) => {
      steps.push(`index ${changesOf(changes).length} to ${position}`)
      return { outcome: 'applied' }
    },
  } as unknown as SearchIndex
  return { steps, source, index }
}

suite('one feeding step', () => {
  test('chunks are stored before the index gets them; the position is that of the last document', async () => {
    const { steps, source, index } = stage([documentOf(3, 'One.'), documentOf(8, 'Two.')])
    const step = await feedIndex(source, index, 0, 'each')
    assert.deepEqual(steps, ['store 2', 'index 2 to 8'])
    assert.deepEqual([step.position, step.documents, step.chunkIds.length], [8, 2, 2])
    assert.deepEqual(await feedIndex(source, index, 8, 'each'), {
      position: 8,
      documents: 0,
      erased: 0,
      chunkIds: [],
      vectors: [],
      isBehind: false,
    })
  })

  test('a local index gets small batches, and larger ones if many documents wait; a remote index always gets large ones', async () => {
    const documents = Array.from({ length: 700 }, (_, i) => documentOf(i + 1, 'One.'))
    const { steps, source, index } = stage(documents)
    const { isBehind } = await feedIndex(source, index, 0, 'each')
    assert.equal(isBehind, false)
    assert.deepEqual(
      steps.filter((one) => one.startsWith('index')),
      ['index 64 to 64', 'index 512 to 576', 'index 124 to 700'],
    )
    steps.length = 0
    await feedIndex(source, index, 0, 'one')
    assert.deepEqual(steps, ['store 256', 'index 256 to 256'])
    steps.length = 0
    await feedIndex(source, index, 100, 'each', { isBehind: true, mayContinue: () => false })
    assert.deepEqual(steps, ['store 512', 'index 512 to 612'], 'as the previous step reported')
  })

  test('while one batch is written, the chunks of the next are stored, and one more is read', async () => {
    const { steps, source, index } = stage(Array.from({ length: 1200 }, (_, i) => documentOf(i + 1, 'One.')))
    const running = new Set<string>()
    const together = new Set<string>()
    const during = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
      running.add(what)
      if (running.size > 1) together.add([...running].sort().join(' '))
      await new Promise((resolve) => setImmediate(resolve))
      const done = await work()
      running.delete(what)
      return done
    }
    const watchedSource = {
      ...source,
      preparedAfter: (...args: Parameters<IndexSource['preparedAfter']>) => {
        steps.push(`read after ${args[0]}${args[1].isBehind ? ', one of many' : ''}`)
        return during('read', () => source.preparedAfter(...args))
      },
      putChunks: (...args: Parameters<IndexSource['putChunks']>) => during('store', () => source.putChunks(...args)),
    }
    const watchedIndex = {
      ...index,
      apply: (...args: Parameters<SearchIndex['apply']>) => during('write', () => index.apply(...args)),
    }
    const step = await feedIndex(watchedSource, watchedIndex, 0, 'each')
    assert.deepEqual([step.position, step.documents, step.chunkIds.length], [1200, 1200, 1200])
    assert.deepEqual(
      steps.filter((one) => one.startsWith('read')),
      ['read after 0', 'read after 64, one of many', 'read after 576, one of many', 'read after 1088, one of many'],
    )
    assert.ok(together.has('read store write'), [...together].join(', '))
    for (const size of ['64', '512']) {
      assert.ok(steps.indexOf(`store ${size}`) < steps.findIndex((one) => one.startsWith(`index ${size} `)))
    }
  })

  test('a step ends after the batches that it has read if a caller waits for it', async () => {
    const { steps, source, index } = stage(Array.from({ length: 2000 }, (_, i) => documentOf(i + 1, 'One.')))
    let calls = 0
    const step = await feedIndex(source, index, 0, 'each', { mayContinue: () => ++calls < 2 })
    assert.deepEqual([step.position, step.isBehind], [576, true])
    assert.equal(steps.at(-1), 'index 512 to 576')
  })

  test('after a failure the index stays at the last written position, and no work continues', async () => {
    const { steps, source, index } = stage(Array.from({ length: 2000 }, (_, i) => documentOf(i + 1, 'One.')))
    const apply: SearchIndex['apply'] = (batch) =>
      (batch.position ?? 0) > 64 ? Promise.resolve({ outcome: 'unavailable', reason: 'damaged' }) : index.apply(batch)
    await assert.rejects(feedIndex(source, { ...index, apply } as SearchIndex, 0, 'each'), /damaged/)
    const before = [...steps]
    assert.deepEqual(
      before.filter((one) => one.startsWith('index')),
      ['index 64 to 64'],
    )
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(steps, before)
  })

  test('an error in concurrent work rejects the step, and does not end the process', async () => {
    const documents = Array.from({ length: 2000 }, (_, i) => documentOf(i + 1, 'One.'))
    const later = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)))
    const unhandled: unknown[] = []
    const onUnhandled = (reason: unknown) => void unhandled.push(reason)
    process.on('unhandledRejection', onUnhandled)
    try {
      for (const failing of ['reader', 'writer'] as const) {
        const { source, index } = stage(documents)
        const preparedAfter: IndexSource['preparedAfter'] = async (...args) => {
          if (failing === 'reader' && args[0] > 0) throw new Error('the reader failed')
          if (args[0] > 64) await later()
          return source.preparedAfter(...args)
        }
        const putChunks: IndexSource['putChunks'] = async (chunks) => {
          await later()
          await source.putChunks(chunks)
        }
        const apply: SearchIndex['apply'] = async (batch) => {
          if (failing === 'writer') throw new Error('the writer failed')
          return index.apply(batch)
        }
        const step = feedIndex({ ...source, preparedAfter, putChunks }, { ...index, apply } as SearchIndex, 0, 'each')
        await assert.rejects(step, new RegExp(`the ${failing} failed`))
        await later()
      }
      assert.deepEqual(unhandled, [])
    } finally {
      process.off('unhandledRejection', onUnhandled)
    }
  })

  test('an unavailable index is an error, and the position stays', async () => {
    const { source } = stage([documentOf(3, 'One.')])
    const index = { apply: async () => ({ outcome: 'unavailable', reason: 'damaged' }) } as unknown as SearchIndex
    await assert.rejects(feedIndex(source, index, 0, 'each'), /damaged/)
  })

  test('a long document does not block the thread', async () => {
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
