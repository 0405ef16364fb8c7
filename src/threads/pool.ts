import { UnavailableError } from '../errors.ts'
import { type CallExtras, CallLost, type Calls } from './calls.ts'

/** Told of every member that comes and goes; for logs and metrics. */
export interface PoolWatch {
  /** A member began to serve (1), or serves no more (-1). */
  members(pool: string, change: 1 | -1): void
  /** A member ended that nobody had asked to. Another comes after `restMs`. */
  died(pool: string, cause: Error, restMs: number): void
  /** A member serves in the place of one that died. */
  replaced(pool: string): void
}

export const silentPoolWatch: PoolWatch = { members: () => {}, died: () => {}, replaced: () => {} }

export interface PoolOptions {
  /** In metrics and logs. */
  readonly name: string
  readonly size: number
  /** Members that are there unasked; others, up to `size`, come one at a time when calls wait. All when left out. */
  readonly kept?: number
  /** How long a call waits for those that serve before another member is started for it; not at all when left out. */
  readonly patienceMs?: number
  /** A member beyond those, but for the first, is let go when it had nothing to do for so long. Never when left out. */
  readonly letGoAfterMs?: number
  /** The first is let go, too. */
  readonly letsAllGo?: boolean
  /** Calls that a member is given at once; the others wait here. */
  readonly callsPerMember: number
  /** Which calls the member of a place is given; all when left out. Those that only some take wait for them. */
  readonly takes?: (place: number, message: unknown) => boolean
  /** Starts the member of a place. It is given calls from when `ready` resolves; when that rejects it is ended. */
  readonly start: (place: number) => { readonly calls: Calls; readonly ready?: Promise<unknown> }
  /** The member of a place is gone: gives back what it held. */
  readonly free?: (place: number) => void
  readonly watch?: PoolWatch
  /** After the second death in a row, doubling up to `restMaxMs`. */
  readonly restMs?: number
  readonly restMaxMs?: number
}

interface Place {
  readonly number: number
  calls: Calls | null
  /** False while the member starts. */
  serves: boolean
  /** Without an answer in between. */
  deathsInRow: number
  restsUntil: number
  returning: NodeJS.Timeout | undefined
  /** Counts the time without a call. */
  idle: NodeJS.Timeout | undefined
}

interface Waiting {
  readonly since: number
  readonly message: unknown
  readonly extras: CallExtras
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
  /** The caller's signal came before its turn. */
  readonly giveUp: () => void
}

/**
 * Threads or processes that do the same work. A call goes to the least loaded; what all are too busy for waits.
 *
 *   empty -> starting -> serving
 *     ^---------+-----------'      died, or asked to end
 *
 * A member that dies is dropped: it is given no call any more, its open calls reject with `CallLost`, what it held is
 * freed, the watch is told, and another takes its place, at once the first time, later and later when members of that
 * place die without having answered anything. The others go on meanwhile. When nobody serves, what waits is rejected
 * with the first start that fails, and at once where none is to come soon.
 */
export class Pool {
  readonly #options: PoolOptions
  readonly #watch: PoolWatch
  readonly #places: Place[]
  readonly #waiting: Waiting[] = []
  #lastDeath: Error | null = null
  #closed: Error | null = null
  #drained: (() => void) | null = null
  #opening: PromiseWithResolvers<void> | null = null
  /** Looks again whether calls still wait, and when. */
  #look: { readonly at: number; readonly timer: NodeJS.Timeout } | null = null

  constructor(options: PoolOptions) {
    this.#options = options
    this.#watch = options.watch ?? silentPoolWatch
    this.#places = Array.from({ length: options.size }, (_, number) => {
      const timers = { returning: undefined, idle: undefined }
      return { number, calls: null, serves: false, deathsInRow: 0, restsUntil: 0, ...timers }
    })
    for (const place of this.#places.slice(0, options.kept)) this.#start(place)
  }

  /** Members that serve. */
  get serving(): number {
    return this.#places.reduce((sum, { serves }) => sum + Number(serves), 0)
  }

  get size(): number {
    return this.#places.length
  }

  /** In words for an operator; `null` when all is well. */
  get trouble(): string | null {
    const missing = this.#places.filter(({ deathsInRow, serves }) => deathsInRow > 0 && !serves).length
    return missing === 0 ? null : `${this.#options.name}: ${missing} of ${this.size} died and are not replaced yet`
  }

  /** Calls that wait or are under way. */
  get load(): number {
    return this.#places.reduce((sum, { calls }) => sum + (calls?.open ?? 0), this.#waiting.length)
  }

  /** Resolves when the first member serves. When none came to, the pool is closed, and this rejects with the cause. */
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
      const giveUp = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
        reject(signal?.reason)
      }
      const waiting: Waiting = { since: performance.now(), message, extras, resolve, reject, giveUp }
      signal?.addEventListener('abort', giveUp, { once: true })
      this.#waiting.push(waiting)
      this.#dispatch()
    })
  }

  /** Takes no more calls, and ends the members when those that wait are done. */
  async end(): Promise<void> {
    this.#close(new UnavailableError(`${this.#options.name}: closed`))
    if (this.#waiting.length > 0) {
      await new Promise<void>((resolve) => {
        this.#drained = resolve
      })
    }
    await Promise.all(this.#places.map(({ calls }) => calls?.end()))
  }

  /** Rejects what waits with `reason` and ends the members in the middle of what they do. */
  async kill(reason: Error): Promise<void> {
    this.#close(reason)
    this.#rejectWaiting(reason)
    await Promise.all(this.#places.map(({ calls }) => calls?.kill()))
  }

  #close(reason: Error): void {
    this.#closed ??= reason
    clearTimeout(this.#look?.timer)
    for (const { returning, idle } of this.#places) {
      clearTimeout(returning)
      clearTimeout(idle)
    }
  }

  #dispatch(isLook = false): void {
    for (let i = 0; i < this.#waiting.length; ) {
      const place = this.#freeFor(this.#waiting[i]!.message)
      if (place !== null) {
        const { message, extras, resolve, reject } = this.#takeWaiting(i)
        this.#send(place, message, extras).then(resolve, reject)
      } else if (this.#options.takes !== undefined) i++
      else break
    }
    if (this.#waiting.length > 0) this.#askForMore(isLook)
    if (this.#waiting.length === 0) this.#drained?.()
  }

  /** The least loaded, where it has room for a call more. */
  #freeFor(message: unknown): Place | null {
    let least: Place | null = null
    for (const place of this.#places) {
      if (!place.serves || place.calls!.isGone || !this.#takes(place.number, message)) continue
      if (least === null || place.calls!.open < least.calls!.open) least = place
    }
    return least !== null && least.calls!.open < this.#options.callsPerMember ? least : null
  }

  #takes(place: number, message: unknown): boolean {
    return this.#options.takes?.(place, message) ?? true
  }

  #send(place: Place, message: unknown, extras: CallExtras): Promise<unknown> {
    const calls = place.calls!
    clearTimeout(place.idle)
    const settled = (): void => {
      this.#mayLetGo(place, calls)
      this.#dispatch()
    }
    return calls.call(message, extras).then(
      (result) => {
        place.deathsInRow = 0
        settled()
        return result
      },
      (error: unknown) => {
        if (!(error instanceof CallLost)) place.deathsInRow = 0
        settled()
        throw error
      },
    )
  }

  #mayLetGo(place: Place, calls: Calls): void {
    const { letGoAfterMs, letsAllGo = false, kept = this.size } = this.#options
    const stays = place.number < Math.max(letsAllGo ? 0 : 1, kept)
    if (letGoAfterMs === undefined || stays || this.#closed !== null) return
    if (calls.open > 0 || place.calls !== calls) return
    place.idle = setTimeout(() => {
      // From here on nothing is given to it, and its end is no death.
      this.#leave(place)
      void calls.end()
    }, letGoAfterMs).unref()
  }

  /** One at a time: a start costs, and by its end the rush may be over. */
  #askForMore(isLook: boolean): void {
    if (this.#places.some(({ calls, serves }) => calls !== null && !serves)) return
    const now = performance.now()
    const wanted = ({ calls, number }: Place) =>
      calls === null && this.#waiting.some(({ message }) => this.#takes(number, message))
    const place = this.#places.find((one) => one.restsUntil <= now && wanted(one))
    if (place !== undefined && this.#closed === null) {
      const patienceMs = this.serving === 0 ? 0 : (this.#options.patienceMs ?? 0)
      const restMs = this.#waiting[0]!.since + patienceMs - now
      if (patienceMs === 0 || (isLook && restMs <= 0)) this.#start(place)
      else this.#lookAgain(restMs)
    } else if (this.#isDeserted) this.#rejectWaiting(this.#lost(this.#lastDeath))
    else {
      const resting = this.#places.find((one) => one.restsUntil > now && wanted(one))
      if (resting !== undefined) this.#lookAgain(resting.restsUntil - now)
    }
  }

  /**
   * A look that comes late says that this thread was busy itself, as while a server starts: answers lie unread, and the next
   * one counts.
   */
  #lookAgain(fromNowMs: number): void {
    const restMs = Math.max(0, fromNowMs)
    const at = performance.now() + restMs
    if (this.#look !== null && this.#look.at <= at) return
    clearTimeout(this.#look?.timer)
    const look = (): void => {
      this.#look = null
      this.#dispatch(true)
    }
    const { patienceMs = 0 } = this.#options
    const lookInTime = (): void => {
      if (performance.now() - at <= patienceMs / 10) look()
      else this.#look = { at, timer: setTimeout(look, patienceMs).unref() }
    }
    this.#look = { at, timer: setTimeout(lookInTime, restMs).unref() }
  }

  /** Nobody serves, and nobody starts. */
  get #isDeserted(): boolean {
    return this.#places.every(({ calls }) => calls === null)
  }

  #lost(cause: Error | null): CallLost {
    return new CallLost(`${this.#options.name}: nobody is there to answer (${cause?.message})`, false, cause)
  }

  #takeWaiting(at: number): Waiting {
    const [taken] = this.#waiting.splice(at, 1)
    taken!.extras.signal?.removeEventListener('abort', taken!.giveUp)
    return taken!
  }

  #rejectWaiting(reason: Error): void {
    while (this.#waiting.length > 0) this.#takeWaiting(0).reject(reason)
  }

  #start(place: Place): void {
    if (place.calls !== null || this.#closed !== null) return
    clearTimeout(place.returning)
    let calls: Calls
    let ready: Promise<unknown>
    let fault: Error | null = null
    try {
      const started = this.#options.start(place.number)
      calls = started.calls
      ready = started.ready ?? calls.started
    } catch (error) {
      this.#ended(place, error as Error)
      return
    }
    place.calls = calls
    ready.then(
      () => {
        if (place.calls !== calls) return
        place.serves = true
        this.#opening?.resolve()
        this.#opening = null
        this.#watch.members(this.#options.name, 1)
        if (place.deathsInRow > 0) this.#watch.replaced(this.#options.name)
        this.#dispatch()
      },
      (error: Error) => {
        // Its own end tells more than that it came before the start was over.
        if (!(error instanceof CallLost)) fault = error
        void calls.kill()
      },
    )
    void calls.ended.then((cause) => {
      if (place.calls === calls) this.#ended(place, fault ?? cause)
    })
  }

  #leave(place: Place): void {
    if (place.serves) this.#watch.members(this.#options.name, -1)
    clearTimeout(place.idle)
    place.calls = null
    place.serves = false
    this.#options.free?.(place.number)
  }

  #ended(place: Place, cause: Error): void {
    const { name, kept = this.size, restMs = 1_000, restMaxMs = 30_000 } = this.#options
    const wasServing = place.serves
    this.#leave(place)
    if (this.#opening !== null && this.#isDeserted) {
      this.#opening.reject(cause)
      this.#close(cause)
    }
    if (this.#closed === null) {
      place.deathsInRow++
      const rest = place.deathsInRow === 1 ? 0 : Math.min(restMaxMs, restMs * 2 ** (place.deathsInRow - 2))
      place.restsUntil = performance.now() + rest
      this.#lastDeath = cause
      this.#watch.died(name, cause, rest)
      if (!wasServing && this.#isDeserted) this.#rejectWaiting(this.#lost(cause))
      if (place.number < kept) {
        if (rest === 0) this.#start(place)
        else place.returning = setTimeout(() => this.#start(place), rest).unref()
      }
    }
    this.#dispatch()
  }
}
