import type { Transferable } from 'node:worker_threads'
import { UnavailableError } from '../platform/errors.ts'
import type { Channel } from './channel.ts'
import { type AnswererFrame, type CallerFrame, errorFromSent } from './frames.ts'

/** The other side ended, or never started. */
export class CallLost extends UnavailableError {
  override name = 'CallLost'
  /** Whether the call was sent, so that its work may have been done. */
  readonly wasSent: boolean

  constructor(message: string, wasSent: boolean, cause: unknown) {
    super(message, { cause })
    this.wasSent = wasSent
  }
}

export interface CallExtras {
  /** Objects to transfer instead of copy. */
  readonly transfer?: readonly Transferable[]
  /** Cancels the call: it rejects with the signal's reason, and the other side is notified. */
  readonly signal?: AbortSignal | undefined
}

export interface CallsOptions {
  /** As in "the search thread ended". */
  readonly name: string
  readonly onNotification?: (notification: unknown) => void
  /** Whether the other side keeps this process alive while no call is open. Default: true. */
  readonly idleKeepsAlive?: boolean
  /**
   * The other side counts as hung, and is killed, if it sends nothing for this long while its start, a reply or its end
   * is expected. Longer work must send notifications. Default: no limit.
   */
  readonly silenceMaxMs?: number
}

/** The silence is measured in parts, so that a pause of the machine or of this thread counts as one part at most. */
const silenceParts = 4

interface OpenCall {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * The calling side of a channel: numbered calls and their replies. When the other side ends, every open and later call
 * rejects with `CallLost`; none hangs.
 */
export class Calls {
  readonly #channel: Channel
  readonly #name: string
  readonly #onNotification: (notification: unknown) => void
  readonly #idleKeepsAlive: boolean
  readonly #open = new Map<number, OpenCall>()
  readonly #started = Promise.withResolvers<unknown>()
  readonly #ended = Promise.withResolvers<Error>()
  /** Cancelled calls that the other side has not yet acknowledged. */
  #givenUp = 0
  #expectsStart = true
  #expectsEnd = false
  /** Why the other side was killed. */
  #fault: Error | null = null
  #cause: Error | null = null
  #last = 0
  /** Checks for silence, and counts the checks in a row that found it. */
  #listening: NodeJS.Timeout | undefined
  #silentFor = 0

  constructor(channel: Channel, options: CallsOptions) {
    this.#channel = channel
    this.#name = options.name
    this.#onNotification = options.onNotification ?? (() => {})
    this.#idleKeepsAlive = options.idleKeepsAlive ?? true
    // Callers that wait for the start get the error. If nobody waits, `ended` reports it.
    this.#started.promise.catch(() => {})
    channel.listen({
      message: (message) => this.#receive(message as AnswererFrame),
      ended: (cause) => this.#end(cause),
    })
    if (options.silenceMaxMs !== undefined) this.#endWhenSilent(options.silenceMaxMs)
  }

  /** The value that the other side sent when it was ready. Rejects if it ended first. */
  get started(): Promise<unknown> {
    return this.#started.promise
  }

  /** Resolves with the cause when the other side has ended, before any open call rejects. */
  get ended(): Promise<Error> {
    return this.#ended.promise
  }

  /**
   * True as soon as the other side has ended, before anybody is notified: replies that came with its end are handled
   * first.
   */
  get isGone(): boolean {
    return this.#cause !== null
  }

  /** The number of calls without a reply. */
  get open(): number {
    return this.#open.size
  }

  call(message: unknown, { transfer, signal }: CallExtras = {}): Promise<unknown> {
    if (this.#cause !== null) return Promise.reject(this.#lost(false))
    if (signal?.aborted) return Promise.reject(signal.reason)
    const call = ++this.#last
    return new Promise((resolve, reject) => {
      // Throws, and so rejects, if the message cannot be copied; then no reply is expected.
      this.#post({ call, message }, transfer)
      if (this.#open.size === 0) this.#keepAlive(true)
      this.#open.set(call, signal === undefined ? { resolve, reject } : this.#givenUpBy(signal, call, resolve, reject))
    })
  }

  /** Asks the other side to end after its open calls. Resolves when it has ended. */
  async end(): Promise<void> {
    if (this.#cause === null) {
      this.#keepAlive(true)
      this.#expectsEnd = true
      this.#post({ end: true })
    }
    await this.#ended.promise
  }

  /** Kills the other side, whatever it is doing. Resolves when it has ended. */
  async kill(): Promise<void> {
    if (this.#cause === null) {
      this.#keepAlive(true)
      this.#channel.kill()
    }
    await this.#ended.promise
  }

  #keepAlive(isNeeded: boolean): void {
    if (!this.#idleKeepsAlive) this.#channel.keepAlive(isNeeded)
  }

  #post(message: CallerFrame, transfer?: readonly Transferable[]): void {
    this.#channel.post(message, transfer)
  }

  #givenUpBy(signal: AbortSignal, call: number, resolve: OpenCall['resolve'], reject: OpenCall['reject']): OpenCall {
    const giveUp = (): void => {
      this.#givenUp++
      this.#post({ cancel: call })
      this.#take(call)?.reject(signal.reason)
    }
    signal.addEventListener('abort', giveUp, { once: true })
    const settled =
      <T>(settle: (value: T) => void) =>
      (value: T): void => {
        signal.removeEventListener('abort', giveUp)
        settle(value)
      }
    return { resolve: settled(resolve), reject: settled(reject) }
  }

  #receive(frame: AnswererFrame): void {
    this.#silentFor = 0
    if ('reply' in frame) {
      const open = this.#take(frame.reply)
      if ('error' in frame) open?.reject(errorFromSent(frame.error))
      else open?.resolve(frame.result)
    } else if ('heard' in frame) this.#givenUp--
    else if ('started' in frame) {
      this.#expectsStart = false
      if (this.#open.size === 0) this.#keepAlive(false)
      this.#started.resolve(frame.started)
    } else if ('failed' in frame) this.#started.reject(errorFromSent(frame.failed))
    else this.#onNotification(frame.notification)
  }

  #endWhenSilent(silenceMaxMs: number): void {
    const look = (): void => {
      const isExpected = this.#expectsStart || this.#expectsEnd || this.#open.size + this.#givenUp > 0
      // One check more than parts: the silence may have begun just before the first.
      if (!isExpected) this.#silentFor = 0
      else if (++this.#silentFor > silenceParts) {
        this.#fault = new Error(`it hung: no message for ${silenceMaxMs / 1000} s`)
        this.#channel.kill()
      }
    }
    this.#listening = setInterval(look, silenceMaxMs / silenceParts).unref()
  }

  #take(call: number): OpenCall | undefined {
    const open = this.#open.get(call)
    this.#open.delete(call)
    if (this.#open.size === 0) this.#keepAlive(false)
    return open
  }

  #end(cause: Error): void {
    if (this.#cause !== null) return
    this.#cause = this.#fault ?? cause
    clearInterval(this.#listening)
    // Resolved first, so that handlers of a rejected call see that it has ended.
    this.#ended.resolve(this.#cause)
    for (const { reject } of this.#open.values()) reject(this.#lost(true))
    this.#open.clear()
    this.#started.reject(this.#lost(false))
  }

  #lost(wasSent: boolean): CallLost {
    return new CallLost(`the ${this.#name} ended: ${this.#cause!.message}`, wasSent, this.#cause)
  }
}
