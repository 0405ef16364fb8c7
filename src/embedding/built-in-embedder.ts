/**
 * The built-in model behind a process of its own.
 *
 *   idle      no process; the first call starts one (about 0.5 s, then 4 to 200 ms a text)
 *   running   calls go to the process and wait in `#pending`
 *   resting   the process died more than once in a row, or the model is damaged: calls fail at once until the rest
 *             is over, then the next call starts a process again, so a file put right is noticed without a restart
 *   closed    for good
 *
 * A process that dies fails every pending call with a retryable error. One with nothing to do does not keep its
 * parent alive, and it ends when its parent does.
 *
 * Not a worker thread: the native runtime aborts the whole server (SIGABRT, exit code 134, onnxruntime-node 1.30)
 * when a thread is stopped in the middle of a run, as `process.exit` and an uncaught exception do, and running out
 * of memory in it would take keyword search down too. The price is one more Node, about 45 MB.
 */
import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Callers } from '../turns/callers.ts'
import type { FromModel, ToModel } from './built-in-process.ts'
import { builtInProfile } from './built-in-profile.ts'
import type { Embedder, EmbeddingKind } from './embedder.ts'
import { abortedError, closedError, EmbeddingError } from './embedding-error.ts'

export interface BuiltInEmbedderOptions {
  /** Threads inside one run. On two busy cores two were slower than one. */
  readonly threads?: number
  /** Texts of one kind that may wait for one caller; a single call may exceed it when nothing else of it waits. */
  readonly waitingTextsMax?: number
  /** After the second death in a row, doubling up to `restMaxMs`; a damaged model rests `restMaxMs`. */
  readonly restMs?: number
  readonly restMaxMs?: number
  readonly directory?: URL
  readonly startProcess?: (directory: URL, threads: number) => ChildProcess
}

interface Pending {
  /** In whose line it waits, of which kind. */
  readonly line: string
  readonly count: number
  readonly resolve: (vectors: Float32Array[]) => void
  readonly reject: (error: EmbeddingError) => void
}

/**
 * The flags and the variable keep the process at about 190 MB; without them it grew to 285 and more over texts of
 * every length. Young garbage is collected early, what was read to load the model is dropped, and glibc gives blocks
 * from 1 MB up back to the system at once.
 */
export function startModelProcess(directory: URL, threads: number): ChildProcess {
  // Nothing of the server's settings is handed on: the model needs none, and they hold keys.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('TIDEMARK_')))
  return fork(fileURLToPath(new URL('./built-in-process.ts', import.meta.url)), [directory.href, String(threads)], {
    env: { ...env, MALLOC_MMAP_THRESHOLD_: String(1024 * 1024) },
    execArgv: ['--max-semi-space-size=1', '--expose-gc'],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
}

function split(joined: Float32Array, count: number): Float32Array[] {
  const { dimensions } = builtInProfile
  return Array.from({ length: count }, (_, i) => joined.slice(i * dimensions, (i + 1) * dimensions))
}

export class BuiltInEmbedder implements Embedder {
  readonly profileId = builtInProfile.id
  readonly model = builtInProfile.model
  readonly dimensions = builtInProfile.dimensions
  readonly languages = builtInProfile.languages

  readonly #start: () => ChildProcess
  readonly #waitingTextsMax: number
  readonly #restMs: number
  readonly #restMaxMs: number
  readonly #pending = new Map<number, Pending>()
  readonly #waitingTexts = new Map<string, number>()
  #process: ChildProcess | null = null
  #nextId = 1
  #deathsInRow = 0
  #rest: { untilMs: number; error: EmbeddingError } | null = null
  #closed = false

  constructor(options: BuiltInEmbedderOptions = {}) {
    const { directory = builtInProfile.directory, threads = 1, startProcess = startModelProcess } = options
    this.#start = () => startProcess(directory, threads)
    this.#waitingTextsMax = options.waitingTextsMax ?? 4_096
    this.#restMs = options.restMs ?? 1_000
    this.#restMaxMs = options.restMaxMs ?? 30_000
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
    const model = this.#running()
    const id = this.#nextId++
    const { promise, resolve, reject } = Promise.withResolvers<Float32Array[]>()
    this.#pending.set(id, { line, count: texts.length, resolve, reject })
    this.#waitingTexts.set(line, waiting + texts.length)
    if (this.#pending.size === 1) keepAlive(model, true)
    post(model, { type: 'embed', id, kind, callers: callers.ids, texts })
    callers.onJoin = (caller) => post(model, { type: 'join', id, caller })
    const onAbort = (): void => {
      post(model, { type: 'cancel', id })
      this.#settle(id)?.reject(abortedError())
    }
    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      return await promise
    } finally {
      signal?.removeEventListener('abort', onAbort)
      callers.onJoin = () => {}
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    const model = this.#process
    this.#process = null
    this.#failAll(closedError())
    if (model === null || model.exitCode !== null || model.signalCode !== null || model.pid === undefined) return
    keepAlive(model, true)
    model.kill('SIGKILL')
    await once(model, 'exit')
  }

  #running(): ChildProcess {
    if (this.#process !== null) return this.#process
    if (this.#rest !== null && performance.now() < this.#rest.untilMs) throw this.#rest.error
    this.#rest = null
    const model = this.#start()
    let reason = new EmbeddingError('unavailable', "the built-in model's process stopped")
    model.on('message', (message: FromModel) => {
      if (message.type === 'damaged') reason = new EmbeddingError('damaged_model', message.message)
      else this.#answered(message)
    })
    model.on('error', () => {
      // Where the process could not be started at all there is no `exit`.
      reason = new EmbeddingError('unavailable', "the built-in model's process does not start")
      if (model.pid === undefined) this.#died(model, reason)
    })
    model.on('exit', () => this.#died(model, reason))
    this.#process = model
    return model
  }

  #answered(message: Exclude<FromModel, { type: 'damaged' }>): void {
    this.#deathsInRow = 0
    const pending = this.#settle(message.id)
    if (message.type === 'done') {
      pending?.resolve(split(message.vectors, pending.count))
      return
    }
    const { code, textIndexes } = message
    pending?.reject(new EmbeddingError(code, message.message, { textIndexes }))
  }

  #died(model: ChildProcess, reason: EmbeddingError): void {
    if (this.#process !== model) return
    this.#process = null
    this.#deathsInRow++
    const restMs =
      reason.code === 'damaged_model'
        ? this.#restMaxMs
        : Math.min(this.#restMaxMs, this.#deathsInRow === 1 ? 0 : this.#restMs * 2 ** (this.#deathsInRow - 2))
    this.#rest = { untilMs: performance.now() + restMs, error: reason }
    this.#failAll(reason)
  }

  #failAll(error: EmbeddingError): void {
    for (const id of [...this.#pending.keys()]) this.#settle(id)?.reject(error)
  }

  #settle(id: number): Pending | undefined {
    const pending = this.#pending.get(id)
    if (pending === undefined) return undefined
    this.#pending.delete(id)
    const waiting = this.#waitingTexts.get(pending.line)! - pending.count
    if (waiting === 0) this.#waitingTexts.delete(pending.line)
    else this.#waitingTexts.set(pending.line, waiting)
    if (this.#pending.size === 0 && this.#process !== null) keepAlive(this.#process, false)
    return pending
  }
}

/** A message that cannot be delivered is not an error here: the process has ended, and `exit` settles its calls. */
function post(model: ChildProcess, message: ToModel): void {
  model.send(message, () => {})
}

function keepAlive(model: ChildProcess, wanted: boolean): void {
  if (wanted) {
    model.ref()
    model.channel?.ref()
  } else {
    model.unref()
    model.channel?.unref()
  }
}
