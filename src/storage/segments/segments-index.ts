import { mkdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname } from 'node:path'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import type {
  ApplyOutcome,
  CountOutcome,
  CountRequest,
  IndexBatch,
  IndexChange,
  IndexHealth,
  KeywordOutcome,
  KeywordRequest,
  ScoreOutcome,
  ScoreRequest,
  SearchIndex,
  Unavailable,
  VectorOutcome,
  VectorRequest,
} from '../../search/search-index.ts'
import { Control, readersMax } from './control.ts'
import type { ReaderCall, SharedBuffers, WriterCall } from './protocol.ts'
import { SearchThreads } from './search-threads.ts'
import { segmentChunksMax } from './segment-image.ts'
import { TermDictionary } from './term-dictionary.ts'
import { ThreadCalls } from './thread-calls.ts'

export interface SegmentsIndexOptions {
  /** The durable file; `-wal`, `-shm` and `-lock` stand beside it. */
  readonly path: string
  /** Names the rules by which texts become terms. A file that was filled by other rules needs a rebuild. */
  readonly analysis?: string
  /** Search threads; as many as there are cores when left out. */
  readonly readers?: number
  /** Vectors to compare, or as much work by words, from which on idle threads share a search. */
  readonly splitFromChunks?: number
  /** How much more a word in the title counts than one in the body. */
  readonly titleWeight?: number
  /** Chunks that are gathered before they become one segment of the file. */
  readonly sealChunks?: number
  /** Chunks of the largest segment, 65,536 at most. */
  readonly segmentChunks?: number
  /** What one merge may take beside the segments themselves. */
  readonly mergeMemoryBytes?: number
  /** How many small segments wait before they are merged. */
  readonly mergeFanIn?: number
  /** `plain` runs without WebAssembly; results are the same. */
  readonly kernel?: 'simd' | 'plain'
}

/** Opens the index and loads it. Rejects when another process has it open; damage is no rejection but a health state. */
export async function openSegmentsIndex(options: SegmentsIndexOptions): Promise<SearchIndex> {
  mkdirSync(dirname(options.path), { recursive: true })
  const readers = Math.min(readersMax, Math.max(1, options.readers ?? availableParallelism()))
  const control = new Control()
  const dictionary = new TermDictionary()
  const shared = { control: control.buffer, dictionary: dictionary.buffers }
  const lists = Array.from({ length: readers }, () => new MessageChannel())
  const writer = startWriter(
    options,
    shared,
    lists.map(({ port1 }) => port1),
  )
  const readingThreads = lists.map(({ port2 }, reader) => {
    const data = {
      path: options.path,
      reader,
      shared,
      writer: port2,
      titleWeight: options.titleWeight ?? 3,
      kernel: options.kernel ?? 'simd',
    }
    return startThread(new URL('./reader-thread.ts', import.meta.url), data, [port2])
  })
  const writing = new ThreadCalls(writer)
  const reading = new SearchThreads(
    readingThreads.map((thread) => new ThreadCalls(thread)),
    control,
    dictionary,
    options.splitFromChunks ?? 100_000,
  )
  const workers = [writer, ...readingThreads]
  try {
    return new SegmentsIndex(writing, reading, workers, (await writing.started()) as IndexHealth)
  } catch (error) {
    await Promise.all(workers.map((worker) => worker.terminate()))
    throw error
  }
}

function startWriter(options: SegmentsIndexOptions, shared: SharedBuffers, readers: readonly MessagePort[]): Worker {
  const segmentChunks = Math.min(segmentChunksMax, options.segmentChunks ?? segmentChunksMax)
  const data = {
    path: options.path,
    analysis: options.analysis ?? '',
    shared,
    readers,
    segmentChunks,
    sealChunks: Math.min(segmentChunks, options.sealChunks ?? 4096),
    mergeMemoryBytes: options.mergeMemoryBytes ?? 256 * 1024 * 1024,
    mergeFanIn: options.mergeFanIn ?? 8,
  }
  return startThread(new URL('./writer-thread.ts', import.meta.url), data, readers)
}

function startThread(file: URL, workerData: unknown, transferList: readonly MessagePort[]): Worker {
  return new Worker(file, { workerData, transferList: [...transferList] })
}

/** The port's adapter: lives on the main thread and only passes messages on. */
class SegmentsIndex implements SearchIndex {
  readonly #writing: ThreadCalls
  readonly #reading: SearchThreads
  readonly #workers: readonly Worker[]
  /** Why searches cannot be answered; empty when they can. */
  #damage: string
  #closed = false

  constructor(writing: ThreadCalls, reading: SearchThreads, workers: readonly Worker[], { reason }: IndexHealth) {
    this.#writing = writing
    this.#reading = reading
    this.#workers = workers
    this.#damage = reason
  }

  async apply(batch: IndexBatch): Promise<ApplyOutcome> {
    const changes = batch.changes.map(withOwnVectors)
    return (await this.#write({ call: 'apply', batch: { ...batch, changes } })) as ApplyOutcome
  }

  async health(): Promise<IndexHealth> {
    return (await this.#write({ call: 'health' })) as IndexHealth
  }

  async checkpoint(): Promise<void> {
    await this.#write({ call: 'checkpoint' })
  }

  async clear(): Promise<void> {
    await this.#write({ call: 'clear' })
    const { reason } = await this.health()
    this.#damage = reason
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#damage = 'the index is closed'
    this.#reading.giveUp(this.#unavailable())
    await this.#write({ call: 'close' }).catch(() => undefined)
    await Promise.all(this.#workers.map((worker) => worker.terminate()))
  }

  keyword(request: KeywordRequest): Promise<KeywordOutcome> {
    return this.#search({ call: 'keyword', request }) as Promise<KeywordOutcome>
  }

  vector(request: VectorRequest): Promise<VectorOutcome> {
    const vector = ownVector(request.vector)
    return this.#search({ call: 'vector', request: { ...request, vector } }) as Promise<VectorOutcome>
  }

  score(request: ScoreRequest): Promise<ScoreOutcome> {
    return this.#search({ call: 'score', request }) as Promise<ScoreOutcome>
  }

  count(request: CountRequest): Promise<CountOutcome> {
    return this.#search({ call: 'count', request }) as Promise<CountOutcome>
  }

  #write(message: WriterCall): Promise<unknown> {
    return this.#writing.call(message)
  }

  #unavailable(): Unavailable {
    return { outcome: 'unavailable', reason: this.#damage }
  }

  async #search(message: ReaderCall): Promise<unknown> {
    return this.#damage === '' ? this.#reading.search(message) : this.#unavailable()
  }
}

/** A message copies the whole buffer behind a typed array, so a vector that is a part of a larger one is cut out first. */
function ownVector(vector: ArrayLike<number>): ArrayLike<number> {
  const isPart = vector instanceof Float32Array && vector.byteLength < vector.buffer.byteLength
  return isPart ? vector.slice() : vector
}

function withOwnVectors(change: IndexChange): IndexChange {
  if (change.kind === 'set_vector') return { ...change, vector: ownVector(change.vector) }
  if (change.kind !== 'put_version') return change
  const chunks = change.chunks.map((chunk) => ({
    ...chunk,
    vectors: chunk.vectors.map(({ profileId, vector }) => ({ profileId, vector: ownVector(vector) })),
  }))
  return { ...change, chunks }
}
