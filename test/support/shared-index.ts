import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyBaseLogger } from 'fastify'
import type { Embedder } from '../../src/embedding/embedder.ts'
import type { SearchIndex } from '../../src/indexing/fed-index.ts'
import { IndexingMeasures } from '../../src/indexing/indexing-measures.ts'
import { changesOf } from '../../src/indexing/read-packed.ts'
import { silentIncidents } from '../../src/platform/incidents.ts'
import { silentMeasures } from '../../src/platform/measures.ts'
import type { OpenStore } from '../../src/storage/open-store.ts'
import { openSegmentsIndex } from '../../src/storage/segments/segments-index.ts'
import { type Indexing, type IndexingParts, startIndexing } from '../../src/worker/indexing.ts'
import { listing } from '../contracts/index-under-test.ts'
import { until } from './until.ts'

const quiet = { info() {}, warn() {}, error() {} } as unknown as FastifyBaseLogger
const profileId = 'm'
const embedder = {
  profileId,
  embed: async (texts: readonly string[]) => texts.map((text) => Float32Array.of(text.length, 1, 0)),
} as unknown as Embedder

/** One of the processes that search the index. The numbers count what it did to the index. */
export interface Process {
  readonly indexing: Indexing
  batches: number
  vectors: number
  cleared: number
}

/** An index that several processes share, and the store from which it is built. */
export class SharedIndex {
  readonly #folder: string
  readonly #store: OpenStore['store']
  readonly index: SearchIndex
  #sent = 0

  private constructor(folder: string, index: SearchIndex, store: OpenStore['store']) {
    this.#folder = folder
    this.index = index
    this.#store = store
  }

  static async over(store: OpenStore['store']): Promise<SharedIndex> {
    const mark = { actor: 'test', at: 0 }
    const profile = { provider: 'http', model: profileId, dimensions: 3, status: 'active', isDefault: true } as const
    await store.operator.commit(
      [
        { kind: 'dataset.put', datasetId: 'news', name: 'news', description: null },
        { kind: 'profile.put', profileId, ...profile },
      ],
      mark,
    )
    const folder = mkdtempSync(join(tmpdir(), 'one-for-all-'))
    const index = await openSegmentsIndex({ path: join(folder, 'index.sqlite'), readers: 1 })
    return new SharedIndex(folder, index, store)
  }

  /** Starts a process with its own connection to the store, as elections need. */
  async start({ store }: Pick<OpenStore, 'store'>, elected: IndexingParts['elected']): Promise<Process> {
    const process: Omit<Process, 'indexing'> = { batches: 0, vectors: 0, cleared: 0 }
    const { index } = this
    const counted = {
      isSound: true,
      position: () => index.position(),
      health: () => index.health(),
      withoutVector: (request) => index.withoutVector(request),
      clear: () => {
        process.cleared++
        return index.clear()
      },
      apply: (batch) => {
        if (batch.position === null) process.vectors += changesOf(batch.changes).length
        else process.batches++
        return index.apply(batch)
      },
    } satisfies Partial<SearchIndex> as unknown as SearchIndex
    const indexing = await startIndexing({
      source: store.indexSource,
      index: counted,
      fedBy: 'one',
      embedders: [embedder],
      registerDimensions: async () => {},
      shared: true,
      elected,
      measures: new IndexingMeasures(silentMeasures),
      incidents: silentIncidents,
      logger: quiet,
    })
    return Object.assign(process, { indexing })
  }

  /** Sends this many documents of one chunk each. */
  async send(count: number): Promise<void> {
    const documents = Array.from({ length: count }, () => {
      const externalId = `n-${++this.#sent}`
      return { datasetId: 'news', platform: 'p', externalId, title: 'Word', body: `Words of ${externalId}.` }
    })
    await this.#store.content.ingest(documents, 1)
  }

  /** Waits until every document is in the index exactly once, with its vector. */
  async untilComplete(): Promise<void> {
    await until('the index has every document and every vector', async () => {
      const found = await this.index.values(listing)
      const { chunks, profiles } = await this.index.health()
      if (found.outcome !== 'found') return false
      const documents = found.values[0]?.count ?? 0
      if (documents > this.#sent || chunks > this.#sent) throw new Error('a document or chunk is in the index twice')
      return documents === this.#sent && profiles[0]?.chunks === this.#sent
    })
  }

  async close(): Promise<void> {
    await this.index.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
