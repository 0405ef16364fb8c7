import { availableParallelism } from 'node:os'
import { dirname } from 'node:path'
import { MessageChannel, Worker } from 'node:worker_threads'
import type {
  ApplyOutcome,
  IndexBatch,
  IndexChange,
  SearchIndex,
  WithoutVectorOutcome,
  WithoutVectorRequest,
} from '../../indexing/fed-index.ts'
import { isPacked } from '../../indexing/read-packed.ts'
import { storageFull } from '../../platform/disk-space.ts'
import { TidemarkError, UnavailableError } from '../../platform/errors.ts'
import { makeFolder } from '../../platform/folders.ts'
import { type Incidents, silentIncidents } from '../../platform/incidents.ts'
import type {
  KeywordOutcome,
  KeywordRequest,
  ScoreOutcome,
  ScoreRequest,
  SimilarWordsOutcome,
  SimilarWordsRequest,
  Unavailable,
  ValuesOutcome,
  ValuesRequest,
  VectorOutcome,
  VectorRequest,
} from '../../search/search-index.ts'
import { titleWeight } from '../../text/bm25.ts'
import { Calls } from '../../threads/calls.ts'
import { threadChannel } from '../../threads/channel.ts'
import { errorFromSent } from '../../threads/frames.ts'
import { Pool, type PoolWatch, silentPoolWatch } from '../../threads/pool.ts'
import { isDamage, isFullDiskError } from '../full-disk.ts'
import { segmentChunksMax } from './format/segment-data.ts'
import { Control, readersMax } from './memory/control.ts'
import { TermDictionary } from './memory/term-dictionary.ts'
import type { SharedBuffers, SuspectVectors, ThreadNotification } from './memory/thread-messages.ts'
import { compileKernel } from './query/kernel-memory.ts'
import type { ReaderCall, ReaderOptions } from './query/reader-calls.ts'
import { SearchThreads } from './threads/search-threads.ts'
import type { SegmentsHealth } from './write/report-health.ts'
import type { WriterCall, WriterThreadOptions } from './write/writer-calls.ts'

/** One node searches this many chunks comfortably in memory; beyond it an index server is the better choice. */
export const chunksComfortable = 3_000_000

/** More threads hardly make loading faster, because memory is the bottleneck. */
const helpersMax = 3

export interface SegmentsIndexOptions {
  /** The durable file; `-wal`, `-shm` and `-lock` are beside it. */
  readonly path: string
  /** Another file that is locked against other processes while this index is open. */
  readonly lockedToo?: string | null
  /** The version of the rules of text analysis. A file that was filled by other rules needs a rebuild. */
  readonly analysis?: string
  /** The number of search threads. Default: the number of cores. */
  readonly readers?: number
  /** From this many vectors, or as much keyword work, idle threads share a search. */
  readonly splitFromChunks?: number
  /** The weight of a word in the title relative to one in the body. */
  readonly titleWeight?: number
  /** The number of chunks in small segments from which on they become one sealed segment of the file. */
  readonly sealChunks?: number
  /** Chunks of the largest segment, 65,536 at most. */
  readonly segmentChunks?: number
  /** The memory limit of one merge, besides the segments themselves. */
  readonly mergeMemoryBytes?: number
  /** The number of small sealed segments that are collected for a merge. */
  readonly mergeFanIn?: number
  /** From this many bytes of sealed segments in the file, several threads load them. */
  readonly helpFromBytes?: number
  /** From this many chunks the index warns that they are too many for one node. Default: 3,000,000. */
  readonly chunksComfortable?: number
  /** Notified of threads that start and end. */
  readonly watch?: PoolWatch
  /** Notified of failures outside of calls: merges, writes without a batch, vectors of the file. */
  readonly incidents?: Incidents
}

/** Opens the index and loads it. Rejects if another process has it open. Damage is only reported by health. */
export async function openSegmentsIndex(options: SegmentsIndexOptions): Promise<SegmentsIndex> {
  // Fails here if the processor cannot run the kernels, before any thread starts.
  compileKernel('vector-kernel.wasm')
  await makeFolder(dirname(options.path))
  const index = new SegmentsIndex(options)
  try {
    await index.open()
    return index
  } catch (error) {
    await index.close()
    throw asStorageFull(error, options.path)
  }
}

/** The search threads of one writer. They start and end with it, because they use its shared memory. */
interface Threads {
  readonly searching: SearchThreads
  readonly readers: Pool
}

function startWriter(
  options: SegmentsIndexOptions,
  shared: SharedBuffers,
  damaged: NotificationHandlers['damaged'],
): Calls {
  const segmentChunks = Math.min(segmentChunksMax, options.segmentChunks ?? segmentChunksMax)
  const workerData: WriterThreadOptions = {
    path: options.path,
    lockedToo: options.lockedToo ?? null,
    analysis: options.analysis ?? '',
    shared,
    segmentChunks,
    sealChunks: Math.min(segmentChunks, options.sealChunks ?? 4096),
    mergeMemoryBytes: options.mergeMemoryBytes ?? 256 * 1024 * 1024,
    mergeFanIn: options.mergeFanIn ?? 8,
    helpers: Math.min(helpersMax, availableParallelism() - 1),
    helpFromBytes: options.helpFromBytes ?? 64 * 1024 * 1024,
  }
  const worker = new Worker(new URL('./threads/writer-thread.ts', import.meta.url), {
    workerData,
    name: 'index writer',
  })
  return new Calls(threadChannel(worker), {
    name: 'index writer',
    onNotification: notificationHandler('index-upkeep', options, { damaged }),
  })
}

interface NotificationHandlers {
  /** Called with vectors that a reader could not read. The writer decides whether that means damage. */
  readonly suspectVectors: (vectors: SuspectVectors) => void
  /** Called when the writer's background work has found damage in the file. */
  readonly damaged: (reason: string) => void
}

const notificationHandler =
  (
    job: string,
    { incidents = silentIncidents, path }: SegmentsIndexOptions,
    { suspectVectors, damaged }: Partial<NotificationHandlers>,
  ) =>
  (notification: unknown): void => {
    const message = notification as ThreadNotification
    if ('worked' in message) incidents.worked(job)
    else if ('suspect' in message) suspectVectors?.(message.suspect)
    else {
      const error = errorFromSent(message.failed)
      if (isDamage(error)) damaged?.(error.message)
      incidents.failed(job, asStorageFull(error, path))
    }
  }

const asStorageFull = (error: unknown, path: string): unknown =>
  isFullDiskError(error, path) ? storageFull(error) : error

/**
 * A search ends by itself after seconds, so a search thread that is silent for this long hangs. Writing and loading
 * have no limit.
 */
const searchSilenceMaxMs = 60_000

/**
 * Starts a search thread. It is ready when it runs and the writer has sent it the list of segments.
 */
function startReader(
  options: SegmentsIndexOptions,
  shared: SharedBuffers,
  reader: number,
  writer: Calls,
  suspectVectors: NotificationHandlers['suspectVectors'],
) {
  const list = new MessageChannel()
  const workerData: ReaderOptions = {
    path: options.path,
    reader,
    shared,
    writer: list.port2,
    titleWeight: options.titleWeight ?? titleWeight,
  }
  const file = new URL('./threads/reader-thread.ts', import.meta.url)
  const worker = new Worker(file, { workerData, transferList: [list.port2], name: 'search thread' })
  const calls = new Calls(threadChannel(worker), {
    name: 'search thread',
    onNotification: notificationHandler('index-vectors', options, { suspectVectors }),
    silenceMaxMs: searchSilenceMaxMs,
  })
  const addReader: WriterCall = { call: 'addReader', reader, port: list.port1 }
  return { calls, ready: Promise.all([calls.started, writer.call(addReader, { transfer: [list.port1] })]) }
}

/**
 * The adapter of the port. It runs on the main thread and only passes messages. A search thread that ends is replaced.
 * If the writer ends, its readers are stopped too, and all are started again from the file, so that half-finished
 * changes disappear with the shared memory. Until the index is loaded again, it is unavailable.
 */
class SegmentsIndex implements SearchIndex {
  readonly #writers: Pool
  readonly #path: string
  readonly #chunksComfortable: number
  #threads!: Threads
  /** Why searches cannot be answered; empty if they can be. */
  #damage = 'the index is being opened'
  #isChecking = false

  constructor(options: SegmentsIndexOptions) {
    const watch = options.watch ?? silentPoolWatch
    const handlers: NotificationHandlers = {
      suspectVectors: (vectors) => void this.#checkVectors(vectors),
      damaged: (reason) => {
        this.#damage ||= reason
      },
    }
    this.#path = options.path
    this.#chunksComfortable = options.chunksComfortable ?? chunksComfortable
    this.#writers = new Pool({
      name: 'index-writer',
      size: 1,
      callsPerMember: Number.POSITIVE_INFINITY,
      watch,
      start: () => {
        const control = new Control()
        const dictionary = new TermDictionary()
        const shared = { control: control.buffer, dictionary: dictionary.buffers }
        const writer = startWriter(options, shared, handlers.damaged)
        const readers = new Pool({
          name: 'search-threads',
          size: Math.min(readersMax, Math.max(1, options.readers ?? availableParallelism())),
          // More threads start when searches wait. Each takes a twentieth of a second of CPU, and some megabytes.
          kept: 1,
          callsPerMember: 1,
          watch,
          start: (reader) => startReader(options, shared, reader, writer, handlers.suspectVectors),
          free: (reader) => control.unpin(reader),
        })
        const splitFrom = options.splitFromChunks ?? 300_000
        this.#threads = { readers, searching: new SearchThreads(readers, control, dictionary, splitFrom) }
        const ready = writer.started.then((health) => {
          this.#damage = (health as SegmentsHealth).reason
        })
        return { calls: writer, ready }
      },
      free: () => {
        this.#damage ||= 'the index thread stopped unexpectedly: the index is being reopened'
        void this.#threads.readers.kill(new UnavailableError(this.#damage))
      },
    })
  }

  get isSound(): boolean {
    return this.#damage === '' || this.#writers.serving === 0
  }

  /** Asks the writer whether the vectors should be there. */
  async #checkVectors(vectors: SuspectVectors): Promise<void> {
    if (this.#isChecking || !this.isSound) return
    this.#isChecking = true
    try {
      this.#damage ||= (await this.#write({ call: 'checkVectors', vectors })) as string
    } catch {
      // The writer has ended. Readers of the reopened index will report the vectors again.
    } finally {
      this.#isChecking = false
    }
  }

  async open(): Promise<void> {
    await this.#writers.open()
    await this.#threads.readers.open()
  }

  async apply(batch: IndexBatch): Promise<ApplyOutcome> {
    if (this.#writers.serving === 0) return this.#unavailable()
    const changes = isPacked(batch.changes) ? batch.changes : batch.changes.map(withOwnVectors)
    const applied = (await this.#write({ call: 'apply', batch: { ...batch, changes } })) as ApplyOutcome
    if (applied.outcome === 'unavailable') this.#damage ||= (await this.health()).reason
    return applied
  }

  async position(): Promise<number> {
    const { state, position } = await this.health()
    return state === 'ready' ? position : 0
  }

  async health(): Promise<SegmentsHealth> {
    const health = (await this.#write({ call: 'health' })) as SegmentsHealth
    const { serving, trouble } = this.#threads.readers
    const warnings = [...health.warnings]
    if (trouble !== null) warnings.push(trouble)
    if (health.chunks > this.#chunksComfortable) {
      warnings.push(`${health.chunks} chunks are more than one node searches comfortably: consider an index server`)
    }
    return { ...health, searchable: health.searchable && serving > 0, warnings }
  }

  async checkpoint(): Promise<void> {
    await this.#write({ call: 'checkpoint' })
  }

  async purge(): Promise<void> {
    await this.#write({ call: 'purge' })
  }

  async clear(): Promise<void> {
    await this.#write({ call: 'clear' })
    const { reason } = await this.health()
    this.#damage = reason
  }

  async close(): Promise<void> {
    this.#damage = 'the index is closed'
    await this.#threads.readers.kill(new UnavailableError(this.#damage))
    await this.#writers.end()
  }

  keyword(request: KeywordRequest): Promise<KeywordOutcome> {
    return this.#search({ call: 'keyword', request }) as Promise<KeywordOutcome>
  }

  vector(request: VectorRequest): Promise<VectorOutcome> {
    const vector = ownVector(request.vector)
    return this.#search({ call: 'vector', request: { ...request, vector } }) as Promise<VectorOutcome>
  }

  similarWords(request: SimilarWordsRequest): Promise<SimilarWordsOutcome> {
    return this.#search({ call: 'similarWords', request }) as Promise<SimilarWordsOutcome>
  }

  score(request: ScoreRequest): Promise<ScoreOutcome> {
    const vectors = request.vectors.map((query) => ({ ...query, vector: ownVector(query.vector) }))
    return this.#search({ call: 'score', request: { ...request, vectors } }) as Promise<ScoreOutcome>
  }

  values(request: ValuesRequest): Promise<ValuesOutcome> {
    return this.#search({ call: 'values', request }) as Promise<ValuesOutcome>
  }

  withoutVector(request: WithoutVectorRequest): Promise<WithoutVectorOutcome> {
    return this.#search({ call: 'withoutVector', request }) as Promise<WithoutVectorOutcome>
  }

  /** Rejects while there is no writer, because loading an index takes longer than a caller should wait. */
  async #write(message: WriterCall): Promise<unknown> {
    if (this.#writers.serving === 0) throw new TidemarkError('search_backend_unavailable', this.#damage)
    try {
      return await this.#writers.call(message)
    } catch (error) {
      throw asStorageFull(error, this.#path)
    }
  }

  #unavailable(): Unavailable {
    return { outcome: 'unavailable', reason: this.#damage }
  }

  async #search(message: ReaderCall): Promise<unknown> {
    return this.#damage === '' ? this.#threads.searching.search(message) : this.#unavailable()
  }
}

/**
 * A message copies the whole buffer behind a typed array, so a vector that is part of a larger buffer is copied first.
 */
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
