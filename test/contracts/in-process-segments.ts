import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type {
  ApplyOutcome,
  IndexBatch,
  SearchIndex,
  WithoutVectorOutcome,
  WithoutVectorRequest,
} from '../../src/indexing/fed-index.ts'
import type {
  KeywordOutcome,
  KeywordRequest,
  ScoreOutcome,
  ScoreRequest,
  SimilarWordsOutcome,
  SimilarWordsRequest,
  ValuesOutcome,
  ValuesRequest,
  VectorOutcome,
  VectorRequest,
} from '../../src/search/search-index.ts'
import { TermScratch } from '../../src/storage/segments/format/segment-builder.ts'
import { Control } from '../../src/storage/segments/memory/control.ts'
import { TermDictionary } from '../../src/storage/segments/memory/term-dictionary.ts'
import { IndexReader } from '../../src/storage/segments/query/index-reader.ts'
import type { ReaderCall, SplitCall } from '../../src/storage/segments/query/reader-calls.ts'
import { canBeSplit, mergeReplies } from '../../src/storage/segments/query/split-search.ts'
import { IndexWriter } from '../../src/storage/segments/write/index-writer.ts'
import type { SegmentsHealth } from '../../src/storage/segments/write/report-health.ts'
import { runMerge } from '../../src/storage/segments/write/run-merge.ts'
import type { MergeResult, MergeTask } from '../../src/storage/segments/write/writer-calls.ts'

export interface InProcessOptions {
  readonly path: string
  readonly sealChunks: number
  readonly segmentChunks: number
  readonly titleWeight?: number
  /** The number of postings in a segment from which a search skips chunks by score upper bounds; by default always. */
  readonly skipFrom?: number
  readonly arenaBytes?: number
}

/** The index without its threads. The caller decides when background work is done, so that a test is repeatable. */
export class InProcessSegments implements SearchIndex {
  readonly isSound = true
  readonly #options: InProcessOptions
  readonly #scratch = new TermScratch()
  readonly #ports: MessagePort[] = []
  #writer!: IndexWriter
  #reader!: IndexReader
  #mergeTask: MergeTask | null = null
  #mergeResult: MergeResult | null = null
  /** The number of merges that took effect. */
  merges = 0
  /** The number of parts of a search. One reader does them one after the other. */
  parts = 1
  /** Makes starting a thread for a merge fail. */
  refusesThreads = false

  constructor(options: InProcessOptions) {
    this.#options = options
    this.#open()
  }

  /** Runs up to this many steps of background work. A merge is made in one step and takes effect in a later one. */
  runBackground(steps: number): void {
    for (let i = 0; i < steps; i++) {
      if (this.#mergeResult !== null) {
        const merged = this.#mergeResult
        this.#mergeResult = null
        this.#writer.merged(merged)
        this.merges++
      } else if (this.#mergeTask !== null) {
        this.#mergeResult = runMerge(this.#mergeTask, this.#scratch).result
        this.#mergeTask = null
      } else if (!this.#writer.backgroundStep() && !this.#writer.merging) return
    }
  }

  reopen(): void {
    this.#closeThreads()
    this.#open()
  }

  async apply(batch: IndexBatch): Promise<ApplyOutcome> {
    return this.#writer.apply(structuredClone(batch))
  }

  async keyword(request: KeywordRequest): Promise<KeywordOutcome> {
    return this.#split({ call: 'keyword', request }) as KeywordOutcome
  }

  async vector(request: VectorRequest): Promise<VectorOutcome> {
    return this.#split({ call: 'vector', request }) as VectorOutcome
  }

  async similarWords(request: SimilarWordsRequest): Promise<SimilarWordsOutcome> {
    return this.#answer({ call: 'similarWords', request }) as SimilarWordsOutcome
  }

  async score(request: ScoreRequest): Promise<ScoreOutcome> {
    return this.#answer({ call: 'score', request }) as ScoreOutcome
  }

  async values(request: ValuesRequest): Promise<ValuesOutcome> {
    return this.#answer({ call: 'values', request }) as ValuesOutcome
  }

  async withoutVector(request: WithoutVectorRequest): Promise<WithoutVectorOutcome> {
    return this.#answer({ call: 'withoutVector', request }) as WithoutVectorOutcome
  }

  async position(): Promise<number> {
    return (await this.health()).position
  }

  async health(): Promise<SegmentsHealth> {
    return this.#writer.health()
  }

  async checkpoint(): Promise<void> {
    this.#writer.checkpoint()
  }

  async purge(): Promise<void> {
    const purged = this.#writer.purge()
    this.runBackground(100_000)
    await purged
  }

  async clear(): Promise<void> {
    this.runBackground(1000)
    this.#writer.clear()
  }

  async close(): Promise<void> {
    this.#closeThreads()
  }

  #answer(call: ReaderCall): unknown {
    return this.#reader.answer(call, performance.now() + call.request.timeoutMs).outcome
  }

  #split(call: SplitCall): unknown {
    if (!canBeSplit(call)) return this.#answer(call)
    const deadline = performance.now() + call.request.timeoutMs
    const of = this.parts
    const replies = Array.from({ length: of }, (_, number) => this.#reader.answer(call, deadline, { number, of }))
    return mergeReplies(call, replies)
  }

  #open(): void {
    const { path, sealChunks, segmentChunks, titleWeight = 3, skipFrom = 0 } = this.#options
    const shared = { control: new Control().buffer, dictionary: new TermDictionary().buffers }
    const list = new MessageChannel()
    this.#ports.push(list.port1)
    const limits = { sealChunks, segmentChunks, mergeMemoryBytes: 2 ** 30, mergeFanIn: 2 }
    this.#writer = new IndexWriter({
      path,
      analysis: '',
      // In the tests, this thread holds the lock too, so waiting for it would be useless.
      lockWaitMs: 0,
      shared,
      startMerge: (task) => {
        if (this.refusesThreads) throw new Error('no thread can be started')
        this.#mergeTask = task
      },
      startHelper: () => {},
      helpers: 0,
      helpFromBytes: 0,
      ...limits,
      arenaBytes: this.#options.arenaBytes ?? 4 * 2 ** 20,
    })
    this.#writer.addReader(0, list.port1)
    this.#reader = new IndexReader({ path, reader: 0, shared, writer: list.port2, titleWeight, skipFrom })
    this.#mergeTask = null
    this.#mergeResult = null
  }

  #closeThreads(): void {
    this.#writer.close()
    for (const port of this.#ports.splice(0)) port.close()
  }
}
