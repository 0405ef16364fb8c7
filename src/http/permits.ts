/** Limits concurrent work. Under overload, requests are refused at once instead of waiting in a growing queue. */
export class Permits {
  #most: number
  #taken = 0
  constructor(most: number) {
    this.#most = most
  }

  get taken(): number {
    return this.#taken
  }

  /** Returns an idempotent function that releases the permit; null if none is left. */
  take(): (() => void) | null {
    if (this.#taken >= this.#most) return null
    this.#taken++
    let held = true
    return () => {
      if (held) this.#taken--
      held = false
    }
  }
}

/** A limit for each caller. A caller without a permit is forgotten. */
export class PermitsByCaller {
  #taken = new Map<string, number>()
  #all = 0

  get taken(): number {
    return this.#all
  }

  take(caller: string, most: number): (() => void) | null {
    const taken = this.#taken.get(caller) ?? 0
    if (taken >= most) return null
    this.#taken.set(caller, taken + 1)
    this.#all++
    let held = true
    return () => {
      if (held) this.#release(caller)
      held = false
    }
  }

  #release(caller: string): void {
    this.#all--
    const left = this.#taken.get(caller)! - 1
    if (left === 0) this.#taken.delete(caller)
    else this.#taken.set(caller, left)
  }
}
