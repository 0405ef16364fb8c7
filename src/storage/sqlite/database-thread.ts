import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { type Answer, type Call, received } from './protocol.ts'

/**
 * Room for short-lived objects in a thread. Left to itself it grows to 48 MB in each, for no gain in speed: what a call
 * makes is either gone at once or sent away.
 */
const maxYoungGenerationSizeMb = 8

interface Waiting {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

/** The main thread's end of one database thread. */
export class DatabaseThread {
  #worker: Worker
  #waiting = new Map<number, Waiting>()
  #failure: Error | null = null

  private constructor(worker: Worker) {
    this.#worker = worker
    worker.on('message', (answer: Answer) => this.#settle(answer))
    worker.on('error', (error) => this.#fail(error instanceof Error ? error : new Error(String(error))))
    worker.on('exit', () => this.#fail(new Error('the database thread has ended')))
  }

  static async start(path: string, role: 'writer' | 'reader'): Promise<DatabaseThread> {
    const worker = new Worker(new URL('./thread.ts', import.meta.url), {
      workerData: { path, role },
      resourceLimits: { maxYoungGenerationSizeMb },
    })
    await once(worker, 'message')
    return new DatabaseThread(worker)
  }

  /** It answers no call any more. */
  get ended(): boolean {
    return this.#failure !== null
  }

  get callsUnderWay(): number {
    return this.#waiting.size
  }

  call(call: Call): Promise<unknown> {
    if (this.#failure !== null) return Promise.reject(this.#failure)
    return new Promise((resolve, reject) => {
      // Throws, and so rejects, where an argument cannot be cloned; then there is no answer to wait for.
      this.#worker.postMessage(call)
      this.#waiting.set(call.number, { resolve, reject })
    })
  }

  async close(): Promise<void> {
    if (this.#failure !== null) return
    const ended = once(this.#worker, 'exit')
    this.#worker.postMessage('close')
    await ended
  }

  /** Ends the thread in the middle of whatever it does; what it had not committed is undone when the file is next opened. */
  async terminate(): Promise<void> {
    await this.#worker.terminate()
  }

  #settle(answer: Answer): void {
    const waiting = this.#waiting.get(answer.number)
    this.#waiting.delete(answer.number)
    if ('error' in answer) waiting?.reject(received(answer.error))
    else waiting?.resolve(answer.result)
  }

  #fail(error: Error): void {
    this.#failure ??= error
    for (const waiting of this.#waiting.values()) waiting.reject(this.#failure)
    this.#waiting.clear()
  }
}
