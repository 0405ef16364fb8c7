/** Keeps what was made for the last so many keys. */
export class RecentlyUsed<Value> {
  readonly #max: number
  readonly #values = new Map<string, Value>()

  constructor(max: number) {
    this.#max = max
  }

  get(key: string, make: () => Value): Value {
    const value = this.#values.get(key) ?? make()
    // The one used last stands last, so the first is the one to go.
    this.#values.delete(key)
    this.#values.set(key, value)
    if (this.#values.size > this.#max) this.#values.delete(this.#values.keys().next().value!)
    return value
  }

  clear(): void {
    this.#values.clear()
  }
}
