import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { plainColumns } from '../../test/support/plain-columns.ts'
import { until } from '../../test/support/until.ts'
import type { Embedder } from '../embedding/embedder.ts'
import type { IndexBatch, IndexHealth, SearchIndex } from '../indexing/fed-index.ts'
import type { IndexSource, SourceDocument } from '../indexing/index-source.ts'
import { IndexingMeasures } from '../indexing/indexing-measures.ts'
import { preparePortion } from '../indexing/prepare-portion.ts'
import { changesOf } from '../indexing/read-packed.ts'
import { UnavailableError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { silentIncidents } from '../platform/incidents.ts'
import type { Log } from '../platform/log.ts'
import { silentMeasures } from '../platform/measures.ts'
import { lagLimits } from '../search/limits.ts'
import type { ChunkRecord } from '../search/version-chunks.ts'
import { startIndexing } from './indexing.ts'

const quiet = { info() {}, warn() {}, error() {} }

/** A store and an index in memory, with adjustable delays. */
class Fakes {
  readonly documents: SourceDocument[] = []
  readonly chunks = new Map<string, ChunkRecord>()
  readonly waiting = new Set<string>()
  readonly vectors = new Map<string, Float32Array>()
  /** The contents of the index: its chunks, and those that have a vector. */
  readonly words = new Set<string>()
  readonly withVector = new Set<string>()
  position = 0
  state: IndexHealth['state'] = 'ready'
  cleared = 0
  applyMs = 0
  portionMax = 2
  feeding = 0
  applyingVectors = 0
  overlaps = 0

  add(count: number): void {
    for (let i = 0; i < count; i++) {
      const version = { current: true, language: 'en', title: 't', body: `words ${i}`, vectors: [] }
      this.documents.push({
        documentId: newId('doc'),
        revision: this.documents.length + 1,
        columns: plainColumns,
        versions: [{ versionId: newId('ver'), ...version }],
      })
    }
  }

  readonly #documentsAfter: IndexSource['documentsAfter'] = async (revision, { documents }) => {
    const most = Math.min(documents, this.portionMax)
    const found = this.documents.filter((one) => one.revision > revision).slice(0, most)
    return found.map((one) => ({
      ...one,
      versions: one.versions.map((version) => ({
        ...version,
        vectors: [...this.chunks.values()]
          .filter(({ versionId, chunkId }) => versionId === version.versionId && this.vectors.has(chunkId))
          .map(({ chunkId }) => ({ chunkId, profileId: 'm', vector: this.vectors.get(chunkId)! })),
      })),
    }))
  }

  readonly source = {
    preparedAfter: (...args: Parameters<IndexSource['preparedAfter']>) =>
      preparePortion({ documentsAfter: this.#documentsAfter }, ...args),
    newestRevision: async () => this.documents.length,
    activeProfiles: async () => [],
    putChunks: async (chunks: readonly ChunkRecord[]) => {
      for (const chunk of chunks) {
        if (!this.chunks.has(chunk.chunkId)) this.waiting.add(chunk.chunkId)
        this.chunks.set(chunk.chunkId, chunk)
      }
    },
    waitingChunks: async () =>
      [...this.waiting].map((chunkId) => ({
        chunkId,
        documentId: this.chunks.get(chunkId)!.documentId,
        text: 'x',
        vector: this.vectors.get(chunkId) ?? null,
      })),
    putVectors: async (_: string, made: readonly { chunkId: string; vector: Float32Array }[]) => {
      for (const { chunkId, vector } of made) this.vectors.set(chunkId, vector)
    },
    vectors: async (_: string, chunkIds: readonly string[]) =>
      chunkIds
        .filter((chunkId) => this.vectors.has(chunkId))
        .map((chunkId) => ({
          chunkId,
          documentId: this.chunks.get(chunkId)!.documentId,
          vector: this.vectors.get(chunkId)!,
        })),
    stillWaiting: async (_: string, chunkIds: readonly string[]) => chunkIds.filter((one) => this.waiting.has(one)),
    awaitVectors: async (_: string, chunkIds: readonly string[]) => {
      for (const chunkId of chunkIds) this.waiting.add(chunkId)
      return chunkIds.length
    },
    doneWaiting: async (_: string, chunkIds: readonly string[]) => {
      for (const chunkId of chunkIds) this.waiting.delete(chunkId)
    },
  } as unknown as IndexSource

  readonly index = {
    isSound: true,
    withoutVector: async () => {
      const missing = [...this.words].filter((chunkId) => !this.withVector.has(chunkId))
      const chunks = missing.map((chunkId) => ({ chunkId, documentId: this.chunks.get(chunkId)!.documentId }))
      return { outcome: 'found', chunks, next: null }
    },
    health: async () =>
      ({
        state: this.state,
        reason: 'damaged',
        position: this.position,
        profiles: [] as IndexHealth['profiles'],
      }) as IndexHealth,
    clear: async () => {
      this.cleared++
      this.words.clear()
      this.withVector.clear()
      this.position = 0
      this.state = 'ready'
    },
    apply: async (batch: IndexBatch) => {
      if (this.feeding + this.applyingVectors > 0) this.overlaps++
      const isFeed = batch.position !== null
      if (isFeed) this.feeding++
      else this.applyingVectors++
      // A step of words is slow; a few vectors are not.
      await sleep(isFeed ? this.applyMs : 0)
      for (const change of changesOf(batch.changes)) {
        if (change.kind === 'put_version') {
          for (const { chunkId, vectors } of change.chunks) {
            this.words.add(chunkId)
            if (vectors.length > 0) this.withVector.add(chunkId)
          }
        }
        if (change.kind === 'set_vector' && this.words.has(change.chunkId)) this.withVector.add(change.chunkId)
      }
      if (isFeed) {
        this.feeding--
        this.position = batch.position!
      } else this.applyingVectors--
      return { outcome: 'applied' as const }
    },
  } as unknown as SearchIndex

  logger: Log = quiet

  readonly embedder = {
    profileId: 'm',
    embed: async (texts: readonly string[]) => texts.map(() => Float32Array.of(1)),
  } as unknown as Embedder

  /** The clock that measures the lag. */
  nowMs = 0

  start(source = this.source, more: Partial<Parameters<typeof startIndexing>[0]> = {}) {
    return startIndexing({
      source,
      index: this.index,
      fedBy: 'each',
      embedders: [this.embedder],
      registerDimensions: async () => {},
      shared: false,
      elected: async () => true,
      measures: new IndexingMeasures(silentMeasures),
      incidents: silentIncidents,
      logger: this.logger,
      clock: () => this.nowMs,
      ...more,
    })
  }

  async settled(): Promise<void> {
    const until = performance.now() + 150_000
    while (this.position < this.documents.length || this.waiting.size > 0) {
      assert.ok(performance.now() < until, 'indexing does not finish')
      await sleep(5)
    }
  }
}

suite('indexing', () => {
  test('a vector that is made faster than its words are indexed is not lost', async () => {
    const fakes = new Fakes()
    fakes.applyMs = 20
    fakes.add(21)
    const indexing = await fakes.start()
    await fakes.settled()
    await indexing.stop()
    assert.equal(fakes.words.size, 21)
    assert.deepEqual([...fakes.withVector].sort(), [...fakes.words].sort())
    assert.equal(fakes.overlaps, 0)
  })

  test('a damaged index is emptied and fed again, with the vectors that were made before', async () => {
    const fakes = new Fakes()
    fakes.add(5)
    const first = await fakes.start()
    await fakes.settled()
    await first.stop()
    fakes.state = 'needs_rebuild'
    fakes.position = 0
    const again = await fakes.start()
    await fakes.settled()
    await again.stop()
    assert.equal(fakes.cleared, 1)
    assert.equal(fakes.withVector.size, 5)
  })

  test('an index that is found damaged while it is served is emptied and fed again, even without new documents', async () => {
    const fakes = new Fakes()
    fakes.add(5)
    const indexing = await fakes.start()
    await fakes.settled()
    fakes.state = 'needs_rebuild'
    const index = fakes.index as { isSound: boolean }
    index.isSound = false
    await until('it is emptied', async () => fakes.cleared === 1)
    index.isSound = true
    await until('it is fed again', async () => fakes.withVector.size === 5)
    await indexing.stop()
  })

  test('an index that accepts nothing while documents wait is behind, also for a process that does not feed it', async () => {
    const fakes = new Fakes()
    const logged: string[] = []
    fakes.logger = { ...quiet, warn: (_, text) => logged.push(text), info: (_, text) => logged.push(text) }
    const index = fakes.index as { apply: SearchIndex['apply']; position: SearchIndex['position'] }
    index.position = async () => fakes.position
    const [feeder, other] = await Promise.all([
      fakes.start(),
      fakes.start(fakes.source, { fedBy: 'one', elected: async () => false, logger: quiet }),
    ])
    const takes = index.apply
    const { promise: repaired, resolve: repair } = Promise.withResolvers<void>()
    index.apply = async (batch) => {
      await repaired
      return takes(batch)
    }
    fakes.add(1)
    feeder.wake()
    await until('both have seen it', async () => {
      fakes.nowMs += lagLimits.standingStillMs + 1
      await sleep(1)
      return feeder.isBehind && other.isBehind
    })
    await until('it is logged', () => logged.length > 0)
    repair()
    await until('both see that it has all', () => !feeder.isBehind && !other.isBehind)
    await until('that is logged too', () => logged.length > 1)
    assert.deepEqual(logged, [
      'the search index lags behind acknowledged writes: searches report it until it has caught up',
      'the search index has caught up with acknowledged writes',
    ])
    await Promise.all([feeder.stop(), other.stop()])
  })

  test('an index with missing documents is refilling until it has them; later documents do not count', async () => {
    const fakes = new Fakes()
    fakes.add(5)
    const indexing = await fakes.start()
    assert.equal(indexing.isRefilling, true)
    await fakes.settled()
    await indexing.exchange(async () => {})
    assert.equal(indexing.isRefilling, false)
    fakes.applyMs = 20
    fakes.add(5)
    indexing.wake()
    while (fakes.feeding === 0) await sleep(1)
    assert.equal(indexing.isRefilling, false)
    await fakes.settled()
    await indexing.stop()
    const again = await fakes.start()
    assert.equal(again.isRefilling, false)
    await again.stop()
  })

  test('documents that arrive during a long refill are refilled too; those of a short round are not waited for', async (t) => {
    const fakes = new Fakes()
    fakes.add(4)
    let aheadMs = 0
    const now = performance.now.bind(performance)
    t.mock.method(performance, 'now', () => now() + aheadMs)
    const seen = new Map<number, boolean>()
    const index = fakes.index as { apply: SearchIndex['apply'] }
    const { apply } = index
    index.apply = async (batch) => {
      if (batch.position !== null) seen.set(batch.position, indexing!.isRefilling)
      const came = { 4: 2, 6: 2 }[batch.position ?? 0] ?? 0
      // The first round takes a minute, the second one almost no time.
      if (batch.position === 4) aheadMs += 60_000
      if (came > 0) fakes.add(came)
      return apply(batch)
    }
    const began = Promise.withResolvers<void>()
    const source = {
      ...fakes.source,
      preparedAfter: async (...args: Parameters<IndexSource['preparedAfter']>) => {
        await began.promise
        return fakes.source.preparedAfter(...args)
      },
    }
    const indexing = await fakes.start(source)
    began.resolve()
    await fakes.settled()
    await indexing.stop()
    assert.deepEqual(Object.fromEntries(seen), { 2: true, 4: true, 6: true, 8: false })
  })

  test('an index that replaces one with more documents is refilling until it has them, and logs this once', async () => {
    const fakes = new Fakes()
    fakes.add(5)
    const logged: string[] = []
    const note = (_: object, words: string) => logged.push(words)
    const indexing = await fakes.start()
    await fakes.settled()
    await until('it has all', () => !indexing.isRefilling)
    fakes.logger = { ...quiet, info: note, warn: note }
    await indexing.stop()
    const again = await fakes.start()
    await again.exchange(async () => {
      fakes.words.clear()
      fakes.withVector.clear()
      fakes.position = 0
    })
    await fakes.settled()
    await until('it has all', () => logged.length === 2)
    await again.stop()
    assert.deepEqual(logged, [
      'the search index is catching up: searches are incomplete until then, and report it',
      'the search index has all documents of the store',
    ])
  })

  test('missing documents are logged once when that begins and once when it ends', async () => {
    const fakes = new Fakes()
    const logged: string[] = []
    const note = (_: object, words: string) => logged.push(words)
    fakes.logger = { ...quiet, info: note, warn: note }
    fakes.add(5)
    const indexing = await fakes.start()
    await fakes.settled()
    await indexing.exchange(async () => {})
    fakes.add(5)
    indexing.wake()
    await fakes.settled()
    await indexing.stop()
    await (await fakes.start()).stop()
    assert.deepEqual(logged, [
      'the search index is catching up: searches are incomplete until then, and report it',
      'the search index has all documents of the store',
    ])
  })

  test('the reason is reported while the index is not fed; for a defect only a reference to the log', async () => {
    const fakes = new Fakes()
    fakes.add(1)
    const { putChunks } = fakes.source
    let failure: Error | null = new UnavailableError('there is no space')
    const source = {
      ...fakes.source,
      putChunks: async (chunks: readonly ChunkRecord[]) => {
        if (failure !== null) throw failure
        return putChunks(chunks)
      },
    }
    const indexing = await fakes.start(source)
    try {
      await until('it is reported', async () => indexing.trouble === 'there is no space')
      failure = new Error('a row of the table of secrets')
      await until('it is reported', async () => indexing.trouble === 'the log says why')
      failure = null
      await fakes.settled()
      await until('nothing is reported', async () => indexing.trouble === null)
    } finally {
      await indexing.stop()
    }
  })

  test('an index ahead of its store is rebuilt', async () => {
    const fakes = new Fakes()
    fakes.add(3)
    fakes.position = 7
    const indexing = await fakes.start()
    while (fakes.cleared === 0) await sleep(5)
    await fakes.settled()
    await indexing.stop()
    assert.equal(fakes.words.size, 3)
    assert.equal(fakes.position, 3)
  })

  test('an exchanged index gets its missing vectors, and so does one that is opened', async () => {
    const fakes = new Fakes()
    fakes.add(6)
    const indexing = await fakes.start()
    await fakes.settled()
    const dropVectors = (): void => {
      for (const chunkId of [...fakes.words].slice(2)) fakes.withVector.delete(chunkId)
    }
    await indexing.exchange(async () => dropVectors())
    while (fakes.withVector.size < 6) await sleep(5)
    await indexing.stop()
    dropVectors()
    // The store does not know one of them either.
    const [chunkId] = [...fakes.words].slice(-1)
    fakes.vectors.delete(chunkId!)
    const again = await fakes.start()
    while (fakes.withVector.size < 6) await sleep(5)
    await fakes.settled()
    await again.stop()
    assert.equal(fakes.vectors.size, 6)
  })

  test('a caller that waits for the end of a step waits for the current one, and not for the whole backlog', async () => {
    const fakes = new Fakes()
    fakes.applyMs = 20
    fakes.portionMax = 1000
    fakes.add(64 + 8 * 512)
    const indexing = await fakes.start()
    while (fakes.feeding === 0) await sleep(1)
    let fedBefore = Number.NaN
    await indexing.exchange(async () => {
      fedBefore = fakes.position
    })
    assert.ok(fedBefore <= 64 + 3 * 512, `${fedBefore} were fed before`)
    await fakes.settled()
    await indexing.stop()
    assert.equal(fakes.words.size, fakes.documents.length)
  })

  test('an exchanged index is fed from its own position, even if a step was in progress', async () => {
    const fakes = new Fakes()
    fakes.applyMs = 30
    fakes.add(6)
    const indexing = await fakes.start()
    while (fakes.feeding === 0) await sleep(1)
    // The other index is empty.
    await indexing.exchange(async () => {
      assert.equal(fakes.feeding + fakes.applyingVectors, 0)
      fakes.words.clear()
      fakes.withVector.clear()
      fakes.position = 0
    })
    await fakes.settled()
    await indexing.stop()
    assert.equal(fakes.words.size, 6)
  })
})
