const nobody: ReadonlySet<string> = new Set()

/**
 * Round-robin fair queuing: FIFO between the items of one caller, and round robin between callers. A round serves each
 * caller at most once. A caller that arrives during a round and was not yet served in it is still served, so a single
 * item does not wait behind the many items of another caller. An item that several callers wait for is queued for each
 * of them, and taken once, when the first of them is served.
 */
export class FairQueue<T> {
  readonly #lines = new Map<string, Set<T>>()
  readonly #callers = new Map<T, Set<string>>()
  /** Callers with waiting items, in the order in which they are served. */
  #thisRound = new Set<string>()
  #nextRound = new Set<string>()
  /** Callers served in this round. Some may have no waiting items any more. */
  readonly #served = new Set<string>()

  get size(): number {
    return this.#callers.size
  }

  waitingFor(caller: string): number {
    return this.#lines.get(caller)?.size ?? 0
  }

  add(caller: string, item: T): void {
    this.#callers.set(item, (this.#callers.get(item) ?? new Set()).add(caller))
    const line = this.#lines.get(caller)
    if (line !== undefined) {
      line.add(item)
      return
    }
    this.#lines.set(caller, new Set([item]))
    const round = this.#served.has(caller) ? this.#nextRound : this.#thisRound
    round.add(caller)
  }

  /** Adds a caller to a waiting item. Does nothing if the item no longer waits. */
  join(caller: string, item: T): void {
    if (this.#callers.has(item)) this.add(caller, item)
  }

  /** Returns whether it was still waiting. */
  remove(item: T): boolean {
    for (const caller of this.#callers.get(item) ?? []) {
      const line = this.#lines.get(caller)!
      line.delete(item)
      if (line.size > 0) continue
      this.#lines.delete(caller)
      this.#thisRound.delete(caller)
      this.#nextRound.delete(caller)
    }
    return this.#callers.delete(item)
  }

  /** Skips the callers in `except`, which keep their turn. Another caller may then be served twice in a round. */
  take(except: ReadonlySet<string> = nobody): T | undefined {
    const mayBeServed = (caller: string): boolean => !except.has(caller)
    const inTurn = this.#thisRound.values().find(mayBeServed)
    if (inTurn !== undefined) return this.takeFor(inTurn)
    const next = this.#nextRound.values().find(mayBeServed)
    if (this.#thisRound.size === 0 && (next !== undefined || this.#nextRound.size === 0)) {
      this.#thisRound = this.#nextRound
      this.#nextRound = new Set()
      this.#served.clear()
    }
    return next === undefined ? undefined : this.takeFor(next)
  }

  /** Takes the first item of one caller out of turn. This counts as the caller's turn in this round. */
  takeFor(caller: string): T | undefined {
    const [item] = this.#lines.get(caller) ?? []
    if (item === undefined) return undefined
    this.#thisRound.delete(caller)
    this.#nextRound.add(caller)
    this.#served.add(caller)
    this.remove(item)
    return item
  }
}
