import type { Transferable } from 'node:worker_threads'
import { UnavailableError } from '../errors.ts'
import type { Channel } from './channel.ts'
import { type AnswererFrame, type CallerFrame, errorFromSent } from './frames.ts'

/** The other side ended, or was not there at all. */
export class CallLost extends UnavailableError {
  override name = 'CallLost'
  /** It may have done what it was asked. */
  readonly wasSent: boolean

  constructor(message: string, wasSent: boolean, cause: unknown) {
    super(message, { cause })
    this.wasSent = wasSent
  }
}

export interface CallExtras {
  /** Handed over instead of copied. */
  readonly transfer?: readonly Transferable[]
  /** Gives the call up: it rejects with the signal's reason, and the other side is told. */
  readonly signal?: AbortSignal | undefined
}

export interface CallsOptions {
  /** As in "the search thread ended". */
  readonly name: string
  readonly onNews?: (news: unknown) => void
  /** Whether this process stays up for the other side while no call is under way; it does when left out. */
  readonly idleKeepsAlive?: boolean
  /**
   * The other side hangs, and is ended, when it has said nothing at all for this long while something was expected of it:
   * its start, a reply, its end. Who works for longer tells news. Nothing of that when left out.
   */
  readonly silenceMaxMs?: number
}

/** In parts, so that a pause of this whole machine, or of this thread, is taken for no more than one of them. */
const silenceParts = 4

interface OpenCall {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * This side of a channel: numbered calls and the replies to them. When the other side ends, every open call rejects with
 * `CallLost`, and so does every later one; none hangs.
 */
export class Calls {
  readonly #channel: Channel
  readonly #name: string
  readonly #onNews: (news: unknown) => void
  readonly #idleKeepsAlive: boolean
  readonly #open = new Map<number, OpenCall>()
  readonly #started = Promise.withResolvers<unknown>()
  readonly #ended = Promise.withResolvers<Error>()
  /** Calls that were given up, until the other side has heard of it. */
  #givenUp = 0
  #expectsStart = true
  #expectsEnd = false
  /** What the other side was ended for. */
  #fault: Error | null = null
  #cause: Error | null = null
  #last = 0
  /** Looks at the silence, and in how many looks nothing was heard. */
  #listening: NodeJS.Timeout | undefined
  #silentFor = 0

  constructor(channel: Channel, options: CallsOptions) {
    this.#channel = channel
    this.#name = options.name
    this.#onNews = options.onNews ?? (() => {})
    this.#idleKeepsAlive = options.idleKeepsAlive ?? true
    // Whoever waits for the start hears of it; where nobody does, the end is enough.
    this.#started.promise.catch(() => {})
    channel.listen({
      message: (message) => this.#receive(message as AnswererFrame),
      ended: (cause) => this.#end(cause),
    })
    if (options.silenceMaxMs !== undefined) this.#endWhenSilent(options.silenceMaxMs)
  }

  /** What the other side said when it was ready for calls. Rejects when it ended before. */
  get started(): Promise<unknown> {
    return this.#started.promise
  }

  /** Resolves, with the cause, when the other side is gone; who waits for this hears of it before any open call rejects. */
  get ended(): Promise<Error> {
    return this.#ended.promise
  }

  /** True from the other side's end on, before anybody has heard of it: replies that came with it are heard first. */
  get isGone(): boolean {
    return this.#cause !== null
  }

  /** Calls without a reply yet. */
  get open(): number {
    return this.#open.size
  }

  call(message: unknown, { transfer, signal }: CallExtras = {}): Promise<unknown> {
    if (this.#cause !== null) return Promise.reject(this.#lost(false))
    if (signal?.aborted) return Promise.reject(signal.reason)
    const call = ++this.#last
    return new Promise((resolve, reject) => {
      // Throws, and so rejects, where the message cannot be copied; then there is no reply to wait for.
      this.#post({ call, message }, transfer)
      if (this.#open.size === 0) this.#keepAlive(true)
      this.#open.set(call, signal === undefined ? { resolve, reject } : this.#givenUpBy(signal, call, resolve, reject))
    })
  }

  /** Asks the other side to end when it has done what it was asked. Resolves when it is gone. */
  async end(): Promise<void> {
    if (this.#cause === null) {
      this.#keepAlive(true)
      this.#expectsEnd = true
      this.#post({ end: true })
    }
    await this.#ended.promise
  }

  /** Ends the other side in the middle of whatever it does. Resolves when it is gone. */
  async kill(): Promise<void> {
    if (this.#cause === null) {
      this.#keepAlive(true)
      this.#channel.kill()
    }
    await this.#ended.promise
  }

  #keepAlive(wanted: boolean): void {
    if (!this.#idleKeepsAlive) this.#channel.keepAlive(wanted)
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
    else this.#onNews(frame.news)
  }

  #endWhenSilent(silenceMaxMs: number): void {
    const look = (): void => {
      const isExpected = this.#expectsStart || this.#expectsEnd || this.#open.size + this.#givenUp > 0
      // One look more: the silence may have begun just before the first.
      if (!isExpected) this.#silentFor = 0
      else if (++this.#silentFor > silenceParts) {
        this.#fault = new Error(`it hung: nothing was heard of it for ${silenceMaxMs / 1000} s`)
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
    // First, so that what follows from a rejected call finds it gone.
    this.#ended.resolve(this.#cause)
    for (const { reject } of this.#open.values()) reject(this.#lost(true))
    this.#open.clear()
    this.#started.reject(this.#lost(false))
  }

  #lost(wasSent: boolean): CallLost {
    return new CallLost(`the ${this.#name} ended: ${this.#cause!.message}`, wasSent, this.#cause)
  }
}
