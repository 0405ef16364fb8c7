import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Embedder } from '../embedding/embedder.ts'
import { EmbeddingError } from '../embedding/embedding-error.ts'
import type { IndexBatch, SearchIndex } from './fed-index.ts'
import type { IndexSource, StoredVector, WaitingChunk } from './index-source.ts'
import { makeVectors } from './make-vectors.ts'
import { changesOf } from './read-packed.ts'

/** Records the calls in order; `texts` wait for vectors. */
function stage(
  texts: readonly string[],
  made: ReadonlyMap<string, Float32Array> = new Map(),
  twins: ReadonlyMap<string, Float32Array> = new Map(),
) {
  const steps: string[] = []
  const waiting: WaitingChunk[] = texts.map((text, i) => {
    const nth = texts.indexOf(text) === i ? '' : i
    const vectors = { vector: made.get(text) ?? null, twin: twins.get(text) ?? null }
    return { chunkId: `c-${text}${nth}`, documentId: `d-${text}`, text, ...vectors }
  })
  const source = {
    waitingChunks: async () => waiting,
    putVectors: async (_: string, vectors: readonly StoredVector[]) =>
      void steps.push(`store ${vectors.map(({ chunkId }) => chunkId)}`),
    doneWaiting: async (_: string, chunkIds: readonly string[]) => void steps.push(`done ${chunkIds}`),
    refuseVectors: async (_: string, chunkIds: readonly string[]) => void steps.push(`refuse ${chunkIds}`),
  } as unknown as IndexSource
  const index = {
    apply: async ({ position, changes }: IndexBatch) => {
      assert.equal(position, null)
      steps.push(`index ${changesOf(changes).map((change) => ('chunkId' in change ? change.chunkId : ''))}`)
      return { outcome: 'applied' }
    },
  } as unknown as SearchIndex
  return { steps, source, index }
}

const embedderOf = (embed: Embedder['embed']) => ({ profileId: 'm', embed }) as unknown as Embedder
const exclusively = <T>(work: () => Promise<T>): Promise<T> => work()
const { signal } = new AbortController()
const ones: Embedder['embed'] = async (texts) => texts.map(() => Float32Array.of(1))

suite('making vectors', () => {
  test('vectors are stored first, then indexed, and only then taken off the queue', async () => {
    const { steps, source, index } = stage(['a', 'b'])
    assert.deepEqual(await makeVectors(source, index, embedderOf(ones), exclusively, signal), {
      made: ['c-a', 'c-b'],
      refused: [],
    })
    assert.deepEqual(steps, ['store c-a,c-b', 'index c-a,c-b', 'done c-a,c-b'])
  })

  test('a vector that was made before is not made again, but still indexed', async () => {
    const { steps, source, index } = stage(['a', 'b'], new Map([['a', Float32Array.of(2)]]))
    const embedded: string[] = []
    const embed: Embedder['embed'] = async (texts) => {
      embedded.push(...texts)
      return ones(texts, 'passage')
    }
    await makeVectors(source, index, embedderOf(embed), exclusively, signal)
    assert.deepEqual(embedded, ['b'])
    assert.deepEqual(steps, ['store c-b', 'index c-a,c-b', 'done c-a,c-b'])
  })

  test('a text is embedded once: not if another chunk has its vector, and not twice in a step', async () => {
    const { steps, source, index } = stage(['a', 'b', 'c', 'b'], new Map(), new Map([['a', Float32Array.of(2)]]))
    const embedded: string[] = []
    const embed: Embedder['embed'] = async (texts) => {
      embedded.push(...texts)
      return ones(texts, 'passage')
    }
    await makeVectors(source, index, embedderOf(embed), exclusively, signal)
    assert.deepEqual(embedded, ['b', 'c'])
    assert.deepEqual(steps, ['store c-a,c-b,c-b3,c-c', 'index c-a,c-b,c-b3,c-c', 'done c-a,c-b,c-b3,c-c'])
  })

  test('a text that is refused for good is recorded as refused, and the others get their vectors', async () => {
    const { steps, source, index } = stage(['a', 'bad', 'b', 'bad2'])
    const embed: Embedder['embed'] = async (texts) => {
      const textIndexes = texts.flatMap((text, i) => (text.startsWith('bad') ? i : []))
      if (textIndexes.length > 0) throw new EmbeddingError('rejected_text', 'refused', { textIndexes })
      return ones(texts, 'passage')
    }
    const { refused } = await makeVectors(source, index, embedderOf(embed), exclusively, signal)
    assert.deepEqual(refused, ['c-bad', 'c-bad2'])
    assert.deepEqual(steps, ['store c-a,c-b', 'index c-a,c-b', 'done c-a,c-b', 'refuse c-bad,c-bad2'])
  })

  test('a temporary error leaves everything in the queue', async () => {
    for (const error of [new EmbeddingError('unavailable', 'down'), new Error('odd')]) {
      const { steps, source, index } = stage(['a'])
      const embed: Embedder['embed'] = async () => Promise.reject(error)
      await assert.rejects(makeVectors(source, index, embedderOf(embed), exclusively, signal))
      assert.deepEqual(steps, [])
    }
  })

  test('an unavailable index leaves the chunks in the queue', async () => {
    const { steps, source } = stage(['a'])
    const index = { apply: async () => ({ outcome: 'unavailable', reason: 'damaged' }) } as unknown as SearchIndex
    await assert.rejects(makeVectors(source, index, embedderOf(ones), exclusively, signal), /damaged/)
    assert.deepEqual(steps, ['store c-a'])
  })

  test('an empty queue makes no request', async () => {
    const { steps, source, index } = stage([])
    const embed: Embedder['embed'] = () => assert.fail()
    assert.deepEqual(await makeVectors(source, index, embedderOf(embed), exclusively, signal), {
      made: [],
      refused: [],
    })
    assert.deepEqual(steps, [])
  })
})
