/**
 * A built-in model behind processes of its own: the first call starts one (0.5 to 2 s, then 4 to 400 ms a text), which runs
 * all passages, and queries when it is free. Others come for queries that would have to wait for a passage or for somebody
 * else's query, go a minute after the last, and the one that runs passages gives way to them. A process that dies,
 * or hangs and is ended for it, fails the call under way with a retryable error, and the next call starts another; when
 * that keeps happening, or a file of the model is damaged, calls fail at once for a while,
 * and then it is tried again, so that a file put right is noticed without a restart. A process with nothing to do does
 * not keep its parent alive, and it ends when its parent does.
 *
 * Not a worker thread: the native runtime aborts the whole server (SIGABRT, exit code 134, onnxruntime-node 1.30)
 * when a thread is stopped in the middle of a run, as `process.exit` and an uncaught exception do, and running out
 * of memory in it would take keyword search down too. The price is one more Node, about 45 MB.
 */
import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { CallLost, Calls } from '../threads/calls.ts'
import { processChannel } from '../threads/channel.ts'
import { nativeProcessEnv } from '../threads/native-process-env.ts'
import { Pool, type PoolWatch, silentPoolWatch } from '../threads/pool.ts'
import { Callers } from '../turns/callers.ts'
import type { BuiltInModel } from './built-in-models.ts'
import type { ModelAnswer, ModelCall } from './built-in-process.ts'
import type { CosineShape, Embedder, EmbeddingKind } from './embedder.ts'
import { abortedError, closedError, EmbeddingError } from './embedding-error.ts'
import { type TextFault, vectorsOrFault } from './normalise-vector.ts'
import { type Job, type Run, RunQueue } from './run-queue.ts'

export interface BuiltInEmbedderOptions {
  /** Queries at once. With one, passages and queries share one process. */
  readonly processes?: number
  /** Processes of queries, when they had nothing to do. */
  readonly letGoAfterMs?: number
  /** Threads inside one run. On two busy cores two were slower than one. */
  readonly threads?: number
  /** Texts of one kind that may wait for one caller; a single call may exceed it when nothing else of it waits. */
  readonly waitingTextsMax?: number
  /** After the second death in a row, doubling up to `restMaxMs`. */
  readonly restMs?: number
  readonly restMaxMs?: number
  /** Without a word from the process while it has a text; a run of one takes up to 0.4 s, on a busy machine a few. */
  readonly silenceMaxMs?: number
  readonly watch?: PoolWatch
  readonly directory?: URL
  readonly startProcess?: typeof startModelProcess
}

/**
 * The flags, and what the allocator is told, keep the process of bge-small-en small over texts of every length; without them
 * it grew by another 95 MB. Young garbage is collected early, and what is no longer used is dropped.
 */
export function startModelProcess(model: BuiltInModel, directory: URL, threads: number): ChildProcess {
  const program = fileURLToPath(new URL('./built-in-process.ts', import.meta.url))
  return fork(program, [model.id, directory.href, String(threads)], {
    env: { ...nativeProcessEnv(), ...model.allocator },
    // What gives memory back is called by `node:ffi`, which warns that it is new.
    execArgv: ['--max-semi-space-size=1', '--expose-gc', '--disable-warning=ExperimentalWarning'],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
}

interface CollectingJob extends Job {
  /** By the place of their texts. */
  readonly results: (Float32Array | TextFault)[]
  /** Texts without a result yet. */
  left: number
  readonly resolve: (vectors: Float32Array[]) => void
  readonly reject: (error: unknown) => void
}

export class BuiltInEmbedder implements Embedder {
  readonly profileId: string
  readonly model: string
  readonly dimensions: number
  readonly languages: readonly string[] | null
  readonly cosines: CosineShape

  readonly #processes: Pool
  readonly #queue: RunQueue<CollectingJob>
  readonly #waitingTextsMax: number
  readonly #waitingTexts = new Map<string, number>()
  #nextId = 1
  #closed = false

  constructor(model: BuiltInModel, options: BuiltInEmbedderOptions = {}) {
    const { directory = model.directory, threads = 1, startProcess = startModelProcess } = options
    this.profileId = model.id
    this.model = model.id
    this.dimensions = model.dimensions
    this.languages = model.languages
    this.cosines = model.cosines
    const { processes = Math.min(2, availableParallelism()), silenceMaxMs = 60_000 } = options
    this.#waitingTextsMax = options.waitingTextsMax ?? 4_096
    this.#queue = new RunQueue({ queriesAtOnce: processes, passagesBeside: processes > 1 })
    this.#processes = new Pool({
      name: 'model',
      // On one core it would only take time from the queries.
      size: processes === 1 ? 1 : processes + 1,
      kept: 0,
      callsPerMember: 1,
      takes: (place, call) => place === 0 || (call as ModelCall).kind === 'query',
      letGoAfterMs: options.letGoAfterMs ?? 60_000,
      start: () => {
        const channel = processChannel(startProcess(model, directory, threads))
        return { calls: new Calls(channel, { name: "built-in model's process", idleKeepsAlive: false, silenceMaxMs }) }
      },
      watch: options.watch ?? silentPoolWatch,
      restMs: options.restMs ?? 1_000,
      restMaxMs: options.restMaxMs ?? 30_000,
    })
  }

  async embed(
    texts: readonly string[],
    kind: EmbeddingKind,
    signal?: AbortSignal,
    callers: Callers = new Callers(),
  ): Promise<Float32Array[]> {
    if (this.#closed) throw closedError()
    if (signal?.aborted) throw abortedError()
    if (texts.length === 0) return []
    // Who joins later does not wait for more than the first does.
    const line = `${kind} ${callers.ids[0]}`
    const waiting = this.#waitingTexts.get(line) ?? 0
    if (waiting > 0 && waiting + texts.length > this.#waitingTextsMax) {
      throw new EmbeddingError('overloaded', `${waiting} texts wait for the built-in model`)
    }
    this.#waitingTexts.set(line, waiting + texts.length)
    const id = this.#nextId++
    const { promise, resolve, reject } = Promise.withResolvers<Float32Array[]>()
    const giveUp = () => reject(abortedError())
    signal?.addEventListener('abort', giveUp, { once: true })
    callers.onJoin = (caller) => {
      this.#queue.join(id, caller)
      this.#runNext()
    }
    this.#queue.add({ id, kind, callers: callers.ids, texts, results: [], left: texts.length, resolve, reject })
    this.#runNext()
    try {
      return await promise
    } catch (error) {
      throw this.#closed ? closedError() : asEmbeddingError(error)
    } finally {
      // Nothing more of it is run when it was given up or has failed.
      this.#queue.remove(id)
      signal?.removeEventListener('abort', giveUp)
      callers.onJoin = () => {}
      const left = this.#waitingTexts.get(line)! - texts.length
      if (left === 0) this.#waitingTexts.delete(line)
      else this.#waitingTexts.set(line, left)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#processes.kill(closedError())
  }

  #runNext(): void {
    for (let run = this.#queue.next(); run !== null; run = this.#queue.next()) void this.#run(run)
  }

  async #run(run: Run<CollectingJob>): Promise<void> {
    const { job, texts, from } = run
    const call: ModelCall = { texts, kind: job.kind }
    try {
      const results = (await this.#processes.call(call)) as ModelAnswer
      for (const [i, result] of results.entries()) job.results[from + i] = result
      job.left -= results.length
      if (job.left === 0) job.resolve(vectorsOrFault(job.results))
    } catch (error) {
      this.#queue.remove(job.id)
      job.reject(error)
    } finally {
      this.#queue.over(run)
      this.#runNext()
    }
  }
}

/** What the process says of itself comes as its fields; its end, whatever the cause, means that it is away. */
function asEmbeddingError(error: unknown): unknown {
  const said = error instanceof CallLost ? error.cause : error
  if (said instanceof Error && said.name === 'EmbeddingError') {
    const { code, message, textIndexes, cause } = said as EmbeddingError
    return new EmbeddingError(code, message, { textIndexes, cause })
  }
  if (!(error instanceof CallLost)) return error
  return new EmbeddingError('unavailable', "the built-in model's process stopped", { cause: error })
}
