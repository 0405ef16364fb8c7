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
  /** The name in messages such as "the search thread ended". */
  readonly name: string
  readonly onNotification?: (notification: unknown) => void
  /** Whether the other side keeps this process alive while no call is open. Default: true. */
  readonly idleKeepsAlive?: boolean
  /**
   * The other side counts as hung, and is killed, if it sends nothing for this long while its start, a reply or its end
   * is expected. Work that takes longer must send notifications. Default: no limit.
   */
  readonly silenceMaxMs?: number
}

/** Silence is measured in parts, so that a pause of the machine or of this thread counts as at most one part. */
const silenceParts = 4

interface OpenCall {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * The calling side of a channel: numbered calls and their replies. When the other side ends, every open call and every
 * later one rejects with `CallLost`.
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
  #unacknowledged = 0
  #expectsStart = true
  #expectsEnd = false
  /** Why the other side was killed. */
  #fault: Error | null = null
  #cause: Error | null = null
  #last = 0
  /** Checks for silence, and counts the checks in a row that found it. */
  #silenceTimer: NodeJS.Timeout | undefined
  #silentChecks = 0

  constructor(channel: Channel, options: CallsOptions) {
    this.#channel = channel
    this.#name = options.name
    this.#onNotification = options.onNotification ?? (() => {})
    this.#idleKeepsAlive = options.idleKeepsAlive ?? true
    // Prevents an unhandled rejection if nobody waits for the start. `ended` reports the error anyway.
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
   * True as soon as the other side has ended. `ended` resolves later, after the replies that came with the end were
   * handled.
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
      // Throws if the message cannot be copied, which rejects the call. No reply is expected then.
      this.#post({ call, message }, transfer)
      if (this.#open.size === 0) this.#keepAlive(true)
      this.#open.set(
        call,
        signal === undefined ? { resolve, reject } : this.#cancelledBy(signal, call, resolve, reject),
      )
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

  #cancelledBy(signal: AbortSignal, call: number, resolve: OpenCall['resolve'], reject: OpenCall['reject']): OpenCall {
    const cancel = (): void => {
      this.#unacknowledged++
      this.#post({ cancel: call })
      this.#take(call)?.reject(signal.reason)
    }
    signal.addEventListener('abort', cancel, { once: true })
    const settled =
      <T>(settle: (value: T) => void) =>
      (value: T): void => {
        signal.removeEventListener('abort', cancel)
        settle(value)
      }
    return { resolve: settled(resolve), reject: settled(reject) }
  }

  #receive(frame: AnswererFrame): void {
    this.#silentChecks = 0
    if ('reply' in frame) {
      const open = this.#take(frame.reply)
      if ('error' in frame) open?.reject(errorFromSent(frame.error))
      else open?.resolve(frame.result)
    } else if ('acknowledged' in frame) this.#unacknowledged--
    else if ('started' in frame) {
      this.#expectsStart = false
      if (this.#open.size === 0) this.#keepAlive(false)
      this.#started.resolve(frame.started)
    } else if ('failed' in frame) this.#started.reject(errorFromSent(frame.failed))
    else this.#onNotification(frame.notification)
  }

  #endWhenSilent(silenceMaxMs: number): void {
    const check = (): void => {
      const isExpected = this.#expectsStart || this.#expectsEnd || this.#open.size + this.#unacknowledged > 0
      // One more check than parts, because the silence may have begun just before the first check.
      if (!isExpected) this.#silentChecks = 0
      else if (++this.#silentChecks > silenceParts) {
        this.#fault = new Error(`it hung: no message for ${silenceMaxMs / 1000} s`)
        this.#channel.kill()
      }
    }
    this.#silenceTimer = setInterval(check, silenceMaxMs / silenceParts).unref()
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
    clearInterval(this.#silenceTimer)
    // Resolves first, so that the handlers of a rejected call know that the other side has ended.
    this.#ended.resolve(this.#cause)
    for (const { reject } of this.#open.values()) reject(this.#lost(true))
    this.#open.clear()
    this.#started.reject(this.#lost(false))
  }

  #lost(wasSent: boolean): CallLost {
    return new CallLost(`the ${this.#name} ended: ${this.#cause!.message}`, wasSent, this.#cause)
  }
}
