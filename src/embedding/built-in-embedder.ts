/**
 * Runs a built-in model in child processes. The first call starts one (0.5 to 2 s, then 4 to 400 ms per text). It runs
 * all passages, and queries when it is free. Further processes start for queries that would have to wait for a passage
 * or for another caller's query; they end after a minute without work, and the process for passages has lower priority.
 *
 * If a process exits, or hangs and is killed, the call in progress fails with a retryable error and the next call
 * starts another process. If that keeps happening, or a file of the model is damaged, calls fail at once for a while.
 * Then the start is tried again, so a repaired file is noticed without a restart. An idle process does not keep its
 * parent alive, and ends when its parent does.
 *
 * A worker thread was rejected: the native runtime aborts the whole server (SIGABRT, exit code 134, onnxruntime-node
 * 1.30) when a thread is stopped during a run, as `process.exit` and an uncaught exception do. Running out of memory in
 * it would also take keyword search down. The price is one more Node process, about 45 MB.
 */
import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { Callers } from '../fair-queue/callers.ts'
import { CallLost, Calls } from '../threads/calls.ts'
import { processChannel } from '../threads/channel.ts'
import { nativeProcessEnv } from '../threads/native-process-env.ts'
import { Pool, type PoolWatch, silentPoolWatch } from '../threads/pool.ts'
import type { BuiltInModel } from './built-in-models.ts'
import type { ModelAnswer, ModelCall } from './built-in-process.ts'
import type { CosineShape, Embedder, EmbeddingKind } from './embedder.ts'
import { abortedError, closedError, EmbeddingError } from './embedding-error.ts'
import { type TextFault, vectorsOrFault } from './normalise-vector.ts'
import { type Job, type Run, RunQueue } from './run-queue.ts'

export interface BuiltInEmbedderOptions {
  /** The number of concurrent queries. With 1, passages and queries share one process. */
  readonly processes?: number
  /** How long an idle process for queries lives. */
  readonly idleTimeoutMs?: number
  /** Threads within one run. On two busy cores two threads were slower than one. */
  readonly threads?: number
  /**
   * Texts of one kind that may wait for one caller. A single call may exceed it if nothing else of that caller waits.
   */
  readonly waitingTextsMax?: number
  /** The pause after the second exit in a row. It doubles up to `restMaxMs`. */
  readonly restMs?: number
  readonly restMaxMs?: number
  /**
   * How long the process may be silent while it has a text. A run of one text takes up to 0.4 s, a few on a busy
   * machine.
   */
  readonly silenceMaxMs?: number
  readonly watch?: PoolWatch
  readonly directory?: URL
  readonly startProcess?: typeof startModelProcess
}

export function startModelProcess(model: BuiltInModel, directory: URL, threads: number): ChildProcess {
  const program = fileURLToPath(new URL('./built-in-process.ts', import.meta.url))
  return fork(program, [model.id, directory.href, String(threads)], {
    env: nativeProcessEnv(),
    execArgv: [],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
}

interface CollectingJob extends Job {
  /** In the order of the texts. */
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
      // On one core, a second process would only take time from the queries.
      size: processes === 1 ? 1 : processes + 1,
      kept: 0,
      callsPerMember: 1,
      takes: (position, call) => position === 0 || (call as ModelCall).kind === 'query',
      idleTimeoutMs: options.idleTimeoutMs ?? 60_000,
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
    // Counts against the first caller. A caller that joins later adds no texts.
    const queueKey = `${kind} ${callers.ids[0]}`
    const waiting = this.#waitingTexts.get(queueKey) ?? 0
    if (waiting > 0 && waiting + texts.length > this.#waitingTextsMax) {
      throw new EmbeddingError('overloaded', `${waiting} texts wait for the built-in model`)
    }
    this.#waitingTexts.set(queueKey, waiting + texts.length)
    const id = this.#nextId++
    const { promise, resolve, reject } = Promise.withResolvers<Float32Array[]>()
    const onAbort = () => reject(abortedError())
    signal?.addEventListener('abort', onAbort, { once: true })
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
      // No further text of the call is run after it was cancelled or has failed.
      this.#queue.remove(id)
      signal?.removeEventListener('abort', onAbort)
      callers.onJoin = () => {}
      const left = this.#waitingTexts.get(queueKey)! - texts.length
      if (left === 0) this.#waitingTexts.delete(queueKey)
      else this.#waitingTexts.set(queueKey, left)
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
      this.#queue.finish(run)
      this.#runNext()
    }
  }
}

/**
 * Restores an error that the process reported from its fields. The exit of the process, for any cause, becomes
 * `unavailable`.
 */
function asEmbeddingError(error: unknown): unknown {
  const reported = error instanceof CallLost ? error.cause : error
  if (reported instanceof Error && reported.name === 'EmbeddingError') {
    const { code, message, textIndexes, cause } = reported as EmbeddingError
    return new EmbeddingError(code, message, { textIndexes, cause })
  }
  if (!(error instanceof CallLost)) return error
  return new EmbeddingError('unavailable', "the built-in model's process stopped", { cause: error })
}
