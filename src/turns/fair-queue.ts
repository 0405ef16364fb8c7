const nobody: ReadonlySet<string> = new Set()

/**
 * What waits, by who waits for it: first come, first served in the line of one caller, and by rounds between the lines.
 * In a round every caller is served once at most, and one who comes and has not been served in it still is: beside a
 * crowd of another's, a single item is taken next. An item that several wait for stands in the line of each and is taken
 * once, in the turn of whoever comes first.
 */
export class FairQueue<T> {
  readonly #lines = new Map<string, Set<T>>()
  readonly #callers = new Map<T, Set<string>>()
  /** Callers with a line, in the order of their turns. */
  #thisRound = new Set<string>()
  #nextRound = new Set<string>()
  /** In this round; they may have no line any more. */
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

  /** One more waits for it; nothing happens where it does not wait any more. */
  join(caller: string, item: T): void {
    if (this.#callers.has(item)) this.add(caller, item)
  }

  /** Whether it was still waiting. */
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

  /** Those of `except` are passed over, and keep their turn: another may be served twice in a round instead. */
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

  /** The first of one line, out of turn; it counts as the caller's turn in this round. */
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
