/** Bounds what goes on at once. Under overload there is a quick refusal instead of a queue that only grows. */
export class Permits {
  #most: number
  #taken = 0
  constructor(most: number) {
    this.#most = most
  }

  get taken(): number {
    return this.#taken
  }

  /** Gives back a function that returns the permit, once however often it is called; null where none is left. */
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

/** The same for each caller apart. Who has nothing going on is forgotten. */
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
      if (held) this.#giveBack(caller)
      held = false
    }
  }

  #giveBack(caller: string): void {
    this.#all--
    const left = this.#taken.get(caller)! - 1
    if (left === 0) this.#taken.delete(caller)
    else this.#taken.set(caller, left)
  }
}
