import { UnavailableError } from '../platform/errors.ts'
import { type CallExtras, CallLost, type Calls } from './calls.ts'

/** Called when members start to serve, stop or are replaced, for logs and metrics. */
export interface PoolWatch {
  /** A member started to serve (1), or stopped (-1). */
  members(pool: string, change: 1 | -1): void
  /** A member ended unexpectedly. It is replaced after `restMs`. */
  exited(pool: string, cause: Error, restMs: number): void
  /** A member that replaces an exited one started to serve. */
  replaced(pool: string): void
}

export const silentPoolWatch: PoolWatch = { members: () => {}, exited: () => {}, replaced: () => {} }

export interface PoolOptions {
  /** The name in metrics and logs. */
  readonly name: string
  readonly size: number
  /** Members that start at once. Others, up to `size`, start one at a time when calls wait. Default: all. */
  readonly kept?: number
  /** How long a call waits before another member is started for it. Default: 0. */
  readonly patienceMs?: number
  /** Members beyond `kept`, except the first, end after being idle for this long. Default: never. */
  readonly idleTimeoutMs?: number
  /** Whether the first member ends when it is idle, too. */
  readonly endsAllWhenIdle?: boolean
  /** How many calls a member gets at once. Further calls wait in the pool. */
  readonly callsPerMember: number
  /** Which calls the member at a position takes. Default: all. Calls that only some members take wait for those. */
  readonly takes?: (position: number, message: unknown) => boolean
  /** Starts the member at a position. It gets calls once `ready` resolves, and is killed if `ready` rejects. */
  readonly start: (position: number) => { readonly calls: Calls; readonly ready?: Promise<unknown> }
  /** Releases the resources that the member at this position held. Called after it has ended. */
  readonly free?: (position: number) => void
  readonly watch?: PoolWatch
  /** The pause after the second exit in a row. It doubles with each further exit, up to `restMaxMs`. */
  readonly restMs?: number
  readonly restMaxMs?: number
}

interface Position {
  readonly number: number
  calls: Calls | null
  /** False while the member starts. */
  serves: boolean
  /** Exits since the last answer. */
  exitsInRow: number
  restsUntil: number
  restarting: NodeJS.Timeout | undefined
  /** Fires when the member was idle for too long. */
  idle: NodeJS.Timeout | undefined
}

interface Waiting {
  readonly since: number
  readonly message: unknown
  readonly extras: CallExtras
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
  /** Called if the caller's signal aborts while the call waits. */
  readonly cancel: () => void
}

/**
 * Threads or processes that do the same work. A call goes to the least loaded member, or waits while all are busy.
 *
 *   empty -> starting -> serving
 *     ^---------+-----------'      exited, or ended by the pool
 *
 * When a member exits unexpectedly, its open calls reject with `CallLost`, its resources are released, and the watch is
 * notified. A replacement starts at once the first time, and after growing pauses if members at that position keep
 * exiting without an answer. The others continue meanwhile. If no member serves, waiting calls reject with the error of
 * the first start that fails, or at once if no start is due soon.
 */
export class Pool {
  readonly #options: PoolOptions
  readonly #watch: PoolWatch
  readonly #positions: Position[]
  readonly #waiting: Waiting[] = []
  #lastExit: Error | null = null
  #closed: Error | null = null
  #drained: (() => void) | null = null
  #opening: PromiseWithResolvers<void> | null = null
  /** The timer of the next check for waiting calls. */
  #nextCheck: { readonly at: number; readonly timer: NodeJS.Timeout } | null = null

  constructor(options: PoolOptions) {
    this.#options = options
    this.#watch = options.watch ?? silentPoolWatch
    this.#positions = Array.from({ length: options.size }, (_, number) => {
      const timers = { restarting: undefined, idle: undefined }
      return { number, calls: null, serves: false, exitsInRow: 0, restsUntil: 0, ...timers }
    })
    for (const position of this.#positions.slice(0, options.kept)) this.#start(position)
  }

  /** The number of members that serve. */
  get serving(): number {
    return this.#positions.reduce((sum, { serves }) => sum + Number(serves), 0)
  }

  get size(): number {
    return this.#positions.length
  }

  /** A text for operators; `null` if all is well. */
  get trouble(): string | null {
    const missing = this.#positions.filter(({ exitsInRow, serves }) => exitsInRow > 0 && !serves).length
    return missing === 0 ? null : `${this.#options.name}: ${missing} of ${this.size} exited and are not replaced yet`
  }

  /** Calls that wait or are open. */
  get load(): number {
    return this.#positions.reduce((sum, { calls }) => sum + (calls?.open ?? 0), this.#waiting.length)
  }

  /** Resolves when the first member serves. If none does, rejects with the cause and closes the pool. */
  async open(): Promise<void> {
    if (this.serving > 0) return
    this.#opening = Promise.withResolvers()
    await this.#opening.promise
  }

  call(message: unknown, extras: CallExtras = {}): Promise<unknown> {
    if (this.#closed !== null) return Promise.reject(this.#closed)
    const { signal } = extras
    if (signal?.aborted) return Promise.reject(signal.reason)
    const free = this.#waiting.length === 0 ? this.#freeFor(message) : null
    if (free !== null) return this.#send(free, message, extras)
    return new Promise((resolve, reject) => {
      const cancel = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
        reject(signal?.reason)
      }
      const waiting: Waiting = { since: performance.now(), message, extras, resolve, reject, cancel }
      signal?.addEventListener('abort', cancel, { once: true })
      this.#waiting.push(waiting)
      this.#dispatch()
    })
  }

  /** Takes no more calls, and ends the members after the waiting calls are done. */
  async end(): Promise<void> {
    this.#close(new UnavailableError(`${this.#options.name}: closed`))
    if (this.#waiting.length > 0) {
      await new Promise<void>((resolve) => {
        this.#drained = resolve
      })
    }
    await Promise.all(this.#positions.map(({ calls }) => calls?.end()))
  }

  /** Rejects waiting calls with `reason` and kills the members. */
  async kill(reason: Error): Promise<void> {
    this.#close(reason)
    this.#rejectWaiting(reason)
    await Promise.all(this.#positions.map(({ calls }) => calls?.kill()))
  }

  #close(reason: Error): void {
    this.#closed ??= reason
    clearTimeout(this.#nextCheck?.timer)
    for (const { restarting, idle } of this.#positions) {
      clearTimeout(restarting)
      clearTimeout(idle)
    }
  }

  #dispatch(isCheck = false): void {
    for (let i = 0; i < this.#waiting.length; ) {
      const position = this.#freeFor(this.#waiting[i]!.message)
      if (position !== null) {
        const { message, extras, resolve, reject } = this.#takeWaiting(i)
        this.#send(position, message, extras).then(resolve, reject)
      } else if (this.#options.takes !== undefined) i++
      else break
    }
    if (this.#waiting.length > 0) this.#startMore(isCheck)
    if (this.#waiting.length === 0) this.#drained?.()
  }

  /** The least loaded member, if it has room for another call. */
  #freeFor(message: unknown): Position | null {
    let least: Position | null = null
    for (const position of this.#positions) {
      if (!position.serves || position.calls!.isGone || !this.#takes(position.number, message)) continue
      if (least === null || position.calls!.open < least.calls!.open) least = position
    }
    return least !== null && least.calls!.open < this.#options.callsPerMember ? least : null
  }

  #takes(position: number, message: unknown): boolean {
    return this.#options.takes?.(position, message) ?? true
  }

  #send(position: Position, message: unknown, extras: CallExtras): Promise<unknown> {
    const calls = position.calls!
    clearTimeout(position.idle)
    const settled = (): void => {
      this.#endWhenIdle(position, calls)
      this.#dispatch()
    }
    return calls.call(message, extras).then(
      (result) => {
        position.exitsInRow = 0
        settled()
        return result
      },
      (error: unknown) => {
        if (!(error instanceof CallLost)) position.exitsInRow = 0
        settled()
        throw error
      },
    )
  }

  #endWhenIdle(position: Position, calls: Calls): void {
    const { idleTimeoutMs, endsAllWhenIdle = false, kept = this.size } = this.#options
    const stays = position.number < Math.max(endsAllWhenIdle ? 0 : 1, kept)
    if (idleTimeoutMs === undefined || stays || this.#closed !== null) return
    if (calls.open > 0 || position.calls !== calls) return
    position.idle = setTimeout(() => {
      // From here on it gets no calls, and its exit is expected.
      this.#leave(position)
      void calls.end()
    }, idleTimeoutMs).unref()
  }

  /** Starts one member at a time, because starting is expensive and the calls may be done before it serves. */
  #startMore(isCheck: boolean): void {
    if (this.#positions.some(({ calls, serves }) => calls !== null && !serves)) return
    const now = performance.now()
    const mayStart = ({ calls, number }: Position) =>
      calls === null && this.#waiting.some(({ message }) => this.#takes(number, message))
    const position = this.#positions.find((one) => one.restsUntil <= now && mayStart(one))
    if (position !== undefined && this.#closed === null) {
      const patienceMs = this.serving === 0 ? 0 : (this.#options.patienceMs ?? 0)
      const restMs = this.#waiting[0]!.since + patienceMs - now
      if (patienceMs === 0 || (isCheck && restMs <= 0)) this.#start(position)
      else this.#checkLater(restMs)
    } else if (this.#isEmpty) this.#rejectWaiting(this.#lost(this.#lastExit))
    else {
      const resting = this.#positions.find((one) => one.restsUntil > now && mayStart(one))
      if (resting !== undefined) this.#checkLater(resting.restsUntil - now)
    }
  }

  /**
   * Schedules a check of the waiting calls. If the check runs late, this thread was busy itself, for example while the
   * server starts, and may not have read replies yet. Then only the next check counts.
   */
  #checkLater(fromNowMs: number): void {
    const restMs = Math.max(0, fromNowMs)
    const at = performance.now() + restMs
    if (this.#nextCheck !== null && this.#nextCheck.at <= at) return
    clearTimeout(this.#nextCheck?.timer)
    const check = (): void => {
      this.#nextCheck = null
      this.#dispatch(true)
    }
    const { patienceMs = 0 } = this.#options
    const checkOnTime = (): void => {
      if (performance.now() - at <= patienceMs / 10) check()
      else this.#nextCheck = { at, timer: setTimeout(check, patienceMs).unref() }
    }
    this.#nextCheck = { at, timer: setTimeout(checkOnTime, restMs).unref() }
  }

  /** No member serves or starts. */
  get #isEmpty(): boolean {
    return this.#positions.every(({ calls }) => calls === null)
  }

  #lost(cause: Error | null): CallLost {
    return new CallLost(`${this.#options.name}: no member is running (${cause?.message})`, false, cause)
  }

  #takeWaiting(at: number): Waiting {
    const [taken] = this.#waiting.splice(at, 1)
    taken!.extras.signal?.removeEventListener('abort', taken!.cancel)
    return taken!
  }

  #rejectWaiting(reason: Error): void {
    while (this.#waiting.length > 0) this.#takeWaiting(0).reject(reason)
  }

  #start(position: Position): void {
    if (position.calls !== null || this.#closed !== null) return
    clearTimeout(position.restarting)
    let calls: Calls
    let ready: Promise<unknown>
    let fault: Error | null = null
    try {
      const started = this.#options.start(position.number)
      calls = started.calls
      ready = started.ready ?? calls.started
    } catch (error) {
      this.#ended(position, error as Error)
      return
    }
    position.calls = calls
    ready.then(
      () => {
        if (position.calls !== calls) return
        position.serves = true
        this.#opening?.resolve()
        this.#opening = null
        this.#watch.members(this.#options.name, 1)
        if (position.exitsInRow > 0) this.#watch.replaced(this.#options.name)
        this.#dispatch()
      },
      (error: Error) => {
        // The cause of the exit says more than the failed start does.
        if (!(error instanceof CallLost)) fault = error
        void calls.kill()
      },
    )
    void calls.ended.then((cause) => {
      if (position.calls === calls) this.#ended(position, fault ?? cause)
    })
  }

  #leave(position: Position): void {
    if (position.serves) this.#watch.members(this.#options.name, -1)
    clearTimeout(position.idle)
    position.calls = null
    position.serves = false
    this.#options.free?.(position.number)
  }

  #ended(position: Position, cause: Error): void {
    const { name, kept = this.size, restMs = 1_000, restMaxMs = 30_000 } = this.#options
    const wasServing = position.serves
    this.#leave(position)
    if (this.#opening !== null && this.#isEmpty) {
      this.#opening.reject(cause)
      this.#close(cause)
    }
    if (this.#closed === null) {
      position.exitsInRow++
      const rest = position.exitsInRow === 1 ? 0 : Math.min(restMaxMs, restMs * 2 ** (position.exitsInRow - 2))
      position.restsUntil = performance.now() + rest
      this.#lastExit = cause
      this.#watch.exited(name, cause, rest)
      if (!wasServing && this.#isEmpty) this.#rejectWaiting(this.#lost(cause))
      if (position.number < kept) {
        if (rest === 0) this.#start(position)
        else position.restarting = setTimeout(() => this.#start(position), rest).unref()
      }
    }
    this.#dispatch()
  }
}
