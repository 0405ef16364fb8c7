import { availableParallelism } from 'node:os'
import { dirname } from 'node:path'
import { MessageChannel, Worker } from 'node:worker_threads'
import { storageFull } from '../../disk-space.ts'
import { TidemarkError, UnavailableError } from '../../errors.ts'
import { type Incidents, silentIncidents } from '../../incidents.ts'
import { makeFolder } from '../../make-folder.ts'
import { isPacked } from '../../search/read-packed.ts'
import type {
  ApplyOutcome,
  CountOutcome,
  CountRequest,
  IndexBatch,
  IndexChange,
  KeywordOutcome,
  KeywordRequest,
  ScoreOutcome,
  ScoreRequest,
  SearchIndex,
  SimilarWordsOutcome,
  SimilarWordsRequest,
  Unavailable,
  ValuesOutcome,
  ValuesRequest,
  VectorOutcome,
  VectorRequest,
  WithoutVectorOutcome,
  WithoutVectorRequest,
} from '../../search/search-index.ts'
import { Calls } from '../../threads/calls.ts'
import { threadChannel } from '../../threads/channel.ts'
import { errorFromSent } from '../../threads/frames.ts'
import { Pool, type PoolWatch, silentPoolWatch } from '../../threads/pool.ts'
import { isDamage, isFullDiskError } from '../full-disk.ts'
import { segmentChunksMax } from './format/segment-image.ts'
import { Control, readersMax } from './memory/control.ts'
import type { SharedBuffers } from './memory/published-list.ts'
import { TermDictionary } from './memory/term-dictionary.ts'
import type { DoubtfulVectors, ThreadNews } from './memory/thread-news.ts'
import type { ReaderCall, ReaderOptions } from './query/reader-calls.ts'
import { SearchThreads } from './threads/search-threads.ts'
import type { SegmentsHealth } from './write/report-health.ts'
import type { WriterCall, WriterOptions } from './write/writer-calls.ts'

/** One node searches this much comfortably in memory; beyond it an index server is the better home. */
export const chunksComfortable = 3_000_000

/** Loading waits for memory more than it computes: with more threads it hardly gets faster. */
const helpersMax = 3

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
  /** Bytes of the file's sealed segments from which on several threads load them. */
  readonly helpFromBytes?: number
  /** From how many chunks on the index warns that they are too many for one node; 3,000,000 when left out. */
  readonly chunksComfortable?: number
  /** `plain` runs without WebAssembly; results are the same. */
  readonly kernel?: 'simd' | 'plain'
  /** Told of the threads that come and go. */
  readonly watch?: PoolWatch
  /** Told of what fails and is no answer to a call: merges, what is written without a batch, vectors of the file. */
  readonly incidents?: Incidents
}

/** Opens the index and loads it. Rejects when another process has it open; damage is no rejection but a health state. */
export async function openSegmentsIndex(options: SegmentsIndexOptions): Promise<SegmentsIndex> {
  await makeFolder(dirname(options.path))
  const index = new SegmentsIndex(options)
  try {
    await index.open()
    return index
  } catch (error) {
    await index.close()
    throw fullOr(error, options.path)
  }
}

/** One writer's threads. What it shares with its readers is of no use without it, so they go together. */
interface Threads {
  readonly searching: SearchThreads
  readonly readers: Pool
}

function startWriter(options: SegmentsIndexOptions, shared: SharedBuffers, damaged: Heard['damaged']): Calls {
  const segmentChunks = Math.min(segmentChunksMax, options.segmentChunks ?? segmentChunksMax)
  const workerData: Omit<WriterOptions, 'startMerge' | 'startHelper'> = {
    path: options.path,
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
    onNews: newsOf('index-upkeep', options, { damaged }),
  })
}

interface Heard {
  /** Of readers: whether it is damage knows the writer. */
  readonly doubted: (vectors: DoubtfulVectors) => void
  /** Background work of the writer found that the file is damaged. */
  readonly damaged: (reason: string) => void
}

const newsOf =
  (job: string, { incidents = silentIncidents, path }: SegmentsIndexOptions, { doubted, damaged }: Partial<Heard>) =>
  (news: unknown): void => {
    const report = news as ThreadNews
    if ('worked' in report) incidents.worked(job)
    else if ('doubtful' in report) doubted?.(report.doubtful)
    else {
      const error = errorFromSent(report.failed)
      if (isDamage(error)) damaged?.(error.message)
      incidents.failed(job, fullOr(error, path))
    }
  }

const fullOr = (error: unknown, path: string): unknown => (isFullDiskError(error, path) ? storageFull(error) : error)

/** A search ends by itself after seconds; who says nothing for this long never will. Writing and loading take as long as they take. */
const searchSilenceMaxMs = 60_000

/** A reader is ready when it runs and the writer has sent it the list of segments; before, it would search nothing. */
function startReader(
  options: SegmentsIndexOptions,
  shared: SharedBuffers,
  reader: number,
  writer: Calls,
  doubted: Heard['doubted'],
) {
  const list = new MessageChannel()
  const workerData: ReaderOptions = {
    path: options.path,
    reader,
    shared,
    writer: list.port2,
    titleWeight: options.titleWeight ?? 3,
    kernel: options.kernel ?? 'simd',
  }
  const file = new URL('./threads/reader-thread.ts', import.meta.url)
  const worker = new Worker(file, { workerData, transferList: [list.port2], name: 'search thread' })
  const calls = new Calls(threadChannel(worker), {
    name: 'search thread',
    onNews: newsOf('index-vectors', options, { doubted }),
    silenceMaxMs: searchSilenceMaxMs,
  })
  const admit: WriterCall = { call: 'admit', reader, port: list.port1 }
  return { calls, ready: Promise.all([calls.started, writer.call(admit, { transfer: [list.port1] })]) }
}

/**
 * The port's adapter: lives on the main thread and only passes messages on. A search thread that dies is replaced. With
 * the writer its readers end too, and all are started anew from the file: whatever it left half done in shared memory is
 * gone with that memory. Until it is loaded the index says that it is unavailable.
 */
class SegmentsIndex implements SearchIndex {
  readonly #writers: Pool
  readonly #path: string
  readonly #chunksComfortable: number
  #threads!: Threads
  /** Why searches cannot be answered; empty when they can. */
  #damage = 'the index is being opened'
  #isExamining = false

  constructor(options: SegmentsIndexOptions) {
    const watch = options.watch ?? silentPoolWatch
    const heard: Heard = {
      doubted: (vectors) => void this.#examine(vectors),
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
        const writer = startWriter(options, shared, heard.damaged)
        const readers = new Pool({
          name: 'search-threads',
          size: Math.min(readersMax, Math.max(1, options.readers ?? availableParallelism())),
          // The others come when searches wait: each is a twentieth of a second of CPU, and some megabytes.
          kept: 1,
          callsPerMember: 1,
          watch,
          start: (reader) => startReader(options, shared, reader, writer, heard.doubted),
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
        this.#damage ||= 'the thread that keeps the index ended: the index is opened anew'
        void this.#threads.readers.kill(new UnavailableError(this.#damage))
      },
    })
  }

  get isSound(): boolean {
    return this.#damage === '' || this.#writers.serving === 0
  }

  /** The writer knows whether a vector ought to be there. */
  async #examine(vectors: DoubtfulVectors): Promise<void> {
    if (this.#isExamining || !this.isSound) return
    this.#isExamining = true
    try {
      this.#damage ||= (await this.#write({ call: 'doubt', vectors })) as string
    } catch {
      // The writer ended: with the index that is opened in its place somebody will doubt again.
    } finally {
      this.#isExamining = false
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
      warnings.push(
        `${health.chunks} chunks are more than one node searches comfortably: it is time for an index server`,
      )
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
    const near = request.near?.map((query) => ({ ...query, vector: ownVector(query.vector) }))
    return this.#search({ call: 'keyword', request: { ...request, ...(near && { near }) } }) as Promise<KeywordOutcome>
  }

  vector(request: VectorRequest): Promise<VectorOutcome> {
    const vector = ownVector(request.vector)
    return this.#search({ call: 'vector', request: { ...request, vector } }) as Promise<VectorOutcome>
  }

  similarWords(request: SimilarWordsRequest): Promise<SimilarWordsOutcome> {
    return this.#search({ call: 'similarWords', request }) as Promise<SimilarWordsOutcome>
  }

  score(request: ScoreRequest): Promise<ScoreOutcome> {
    return this.#search({ call: 'score', request }) as Promise<ScoreOutcome>
  }

  count(request: CountRequest): Promise<CountOutcome> {
    return this.#search({ call: 'count', request }) as Promise<CountOutcome>
  }

  values(request: ValuesRequest): Promise<ValuesOutcome> {
    return this.#search({ call: 'values', request }) as Promise<ValuesOutcome>
  }

  withoutVector(request: WithoutVectorRequest): Promise<WithoutVectorOutcome> {
    return this.#search({ call: 'withoutVector', request }) as Promise<WithoutVectorOutcome>
  }

  /** Rejects while there is no writer: to load an index takes longer than anybody should wait. */
  async #write(message: WriterCall): Promise<unknown> {
    if (this.#writers.serving === 0) throw new TidemarkError('search_backend_unavailable', this.#damage)
    try {
      return await this.#writers.call(message)
    } catch (error) {
      throw fullOr(error, this.#path)
    }
  }

  #unavailable(): Unavailable {
    return { outcome: 'unavailable', reason: this.#damage }
  }

  async #search(message: ReaderCall): Promise<unknown> {
    return this.#damage === '' ? this.#threads.searching.search(message) : this.#unavailable()
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
