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
    preparedAfter: (...asked) => preparePortion({ documentsAfter }, ...asked),
    putChunks: async (chunks) => void steps.push(`keep ${chunks.length}`),
  } satisfies Partial<IndexSource> as unknown as IndexSource
  const index = {
    apply: async ({ position, changes }: IndexBatch) => {
      steps.push(`index ${changesOf(changes).length} to ${position}`)
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

  test('an index of this process gets a few documents at once, and many where they wait; one that is elsewhere always many', async () => {
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
    assert.deepEqual(steps, ['keep 256', 'index 256 to 256'])
    steps.length = 0
    await feedIndex(source, index, 100, 'each', { isBehind: true, mayGoOn: () => false })
    assert.deepEqual(steps, ['keep 512', 'index 512 to 612'], 'as the step before said')
  })

  test('while one portion is written, chunks of the next are kept, and one more is read', async () => {
    const { steps, source, index } = stage(Array.from({ length: 1200 }, (_, i) => documentOf(i + 1, 'One.')))
    const going = new Set<string>()
    const together = new Set<string>()
    const during = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
      going.add(what)
      if (going.size > 1) together.add([...going].sort().join(' '))
      await new Promise((resolve) => setImmediate(resolve))
      const done = await work()
      going.delete(what)
      return done
    }
    const watchedSource = {
      ...source,
      preparedAfter: (...asked: Parameters<IndexSource['preparedAfter']>) => {
        steps.push(`read after ${asked[0]}${asked[1].isBehind ? ', one of many' : ''}`)
        return during('read', () => source.preparedAfter(...asked))
      },
      putChunks: (...asked: Parameters<IndexSource['putChunks']>) => during('keep', () => source.putChunks(...asked)),
    }
    const watchedIndex = {
      ...index,
      apply: (...asked: Parameters<SearchIndex['apply']>) => during('write', () => index.apply(...asked)),
    }
    const step = await feedIndex(watchedSource, watchedIndex, 0, 'each')
    assert.deepEqual([step.position, step.documents, step.chunkIds.length], [1200, 1200, 1200])
    assert.deepEqual(
      steps.filter((one) => one.startsWith('read')),
      ['read after 0', 'read after 64, one of many', 'read after 576, one of many', 'read after 1088, one of many'],
    )
    assert.ok(together.has('keep read write'), [...together].join(', '))
    for (const size of ['64', '512']) {
      assert.ok(steps.indexOf(`keep ${size}`) < steps.findIndex((one) => one.startsWith(`index ${size} `)))
    }
  })

  test('a step ends with what it has read when somebody waits for it', async () => {
    const { steps, source, index } = stage(Array.from({ length: 2000 }, (_, i) => documentOf(i + 1, 'One.')))
    let asked = 0
    const step = await feedIndex(source, index, 0, 'each', { mayGoOn: () => ++asked < 2 })
    assert.deepEqual([step.position, step.isBehind], [576, true])
    assert.equal(steps.at(-1), 'index 512 to 576')
  })

  test('what was written before a portion failed is where the index stands, and nothing is under way after it', async () => {
    const { steps, source, index } = stage(Array.from({ length: 2000 }, (_, i) => documentOf(i + 1, 'One.')))
    const apply: SearchIndex['apply'] = (batch) =>
      (batch.position ?? 0) > 64 ? Promise.resolve({ outcome: 'unavailable', reason: 'damaged' }) : index.apply(batch)
    await assert.rejects(feedIndex(source, { ...index, apply } as SearchIndex, 0, 'each'), /damaged/)
    const told = [...steps]
    assert.deepEqual(
      told.filter((one) => one.startsWith('index')),
      ['index 64 to 64'],
    )
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(steps, told)
  })

  test('what fails while something else is waited for is told by the step, and ends nothing but it', async () => {
    const documents = Array.from({ length: 2000 }, (_, i) => documentOf(i + 1, 'One.'))
    const later = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)))
    const unheard: unknown[] = []
    const hear = (reason: unknown) => void unheard.push(reason)
    process.on('unhandledRejection', hear)
    try {
      for (const failing of ['reader', 'writer'] as const) {
        const { source, index } = stage(documents)
        const preparedAfter: IndexSource['preparedAfter'] = async (...asked) => {
          if (failing === 'reader' && asked[0] > 0) throw new Error('the reader died')
          if (asked[0] > 64) await later()
          return source.preparedAfter(...asked)
        }
        const putChunks: IndexSource['putChunks'] = async (chunks) => {
          await later()
          await source.putChunks(chunks)
        }
        const apply: SearchIndex['apply'] = async (batch) => {
          if (failing === 'writer') throw new Error('the writer died')
          return index.apply(batch)
        }
        const step = feedIndex({ ...source, preparedAfter, putChunks }, { ...index, apply } as SearchIndex, 0, 'each')
        await assert.rejects(step, new RegExp(`the ${failing} died`))
        await later()
      }
      assert.deepEqual(unheard, [])
    } finally {
      process.off('unhandledRejection', hear)
    }
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
