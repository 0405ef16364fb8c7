/**
 * The built-in model behind a process of its own, a pool of one: the first call starts it (about 0.5 s, then 4 to 200 ms
 * a text). A process that dies, or hangs and is ended for it, fails every call under way with a retryable error, and the
 * next call starts another; when that keeps happening, or a file of the model is damaged, calls fail at once for a while,
 * and then it is tried again, so that a file put right is noticed without a restart. A process with nothing to do does
 * not keep its parent alive, and it ends when its parent does.
 *
 * Not a worker thread: the native runtime aborts the whole server (SIGABRT, exit code 134, onnxruntime-node 1.30)
 * when a thread is stopped in the middle of a run, as `process.exit` and an uncaught exception do, and running out
 * of memory in it would take keyword search down too. The price is one more Node, about 45 MB.
 */
import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { CallLost, Calls } from '../threads/calls.ts'
import { processChannel } from '../threads/channel.ts'
import { Pool, type PoolWatch, silentPoolWatch } from '../threads/pool.ts'
import { Callers } from '../turns/callers.ts'
import type { ModelCall } from './built-in-process.ts'
import { builtInProfile } from './built-in-profile.ts'
import type { Embedder, EmbeddingKind } from './embedder.ts'
import { abortedError, closedError, EmbeddingError } from './embedding-error.ts'

export interface BuiltInEmbedderOptions {
  /** Threads inside one run. On two busy cores two were slower than one. */
  readonly threads?: number
  /** Texts of one kind that may wait for one caller; a single call may exceed it when nothing else of it waits. */
  readonly waitingTextsMax?: number
  /** After the second death in a row, doubling up to `restMaxMs`. */
  readonly restMs?: number
  readonly restMaxMs?: number
  /** Without a word from the process while texts wait; a run of one takes up to 0.2 s, on a busy machine a few. */
  readonly silenceMaxMs?: number
  readonly watch?: PoolWatch
  readonly directory?: URL
  readonly startProcess?: (directory: URL, threads: number) => ChildProcess
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

  readonly #processes: Pool
  readonly #waitingTextsMax: number
  readonly #waitingTexts = new Map<string, number>()
  #nextId = 1
  #closed = false

  constructor(options: BuiltInEmbedderOptions = {}) {
    const { directory = builtInProfile.directory, threads = 1, startProcess = startModelProcess } = options
    this.#waitingTextsMax = options.waitingTextsMax ?? 4_096
    this.#processes = new Pool({
      name: 'model',
      size: 1,
      kept: 0,
      // What waits is put in order in the process.
      callsPerMember: Number.POSITIVE_INFINITY,
      start: () => {
        const channel = processChannel(startProcess(directory, threads))
        const { silenceMaxMs = 60_000 } = options
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
    if (texts.length === 0) return []
    // Who joins later does not wait for more than the first does.
    const line = `${kind} ${callers.ids[0]}`
    const waiting = this.#waitingTexts.get(line) ?? 0
    if (waiting > 0 && waiting + texts.length > this.#waitingTextsMax) {
      throw new EmbeddingError('overloaded', `${waiting} texts wait for the built-in model`)
    }
    this.#waitingTexts.set(line, waiting + texts.length)
    const id = this.#nextId++
    callers.onJoin = (caller) => {
      // Where it fails, so does the call that was joined.
      this.#call({ type: 'join', id, caller }).catch(() => {})
    }
    try {
      const joined = await this.#call({ type: 'embed', id, kind, callers: callers.ids, texts }, signal)
      return split(joined as Float32Array, texts.length)
    } catch (error) {
      throw signal?.aborted ? abortedError() : this.#closed ? closedError() : asEmbeddingError(error)
    } finally {
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

  #call(call: ModelCall, signal?: AbortSignal): Promise<unknown> {
    return this.#processes.call(call, { signal })
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
