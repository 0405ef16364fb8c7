/** The caller ID of background work, for which no client waits. */
const background = 'background'

/**
 * The callers that wait for the same work. The work is queued for each of them, and runs when the first of them is
 * served. `onJoin` is called when another caller joins.
 */
export class Callers {
  readonly #ids: Set<string>
  onJoin: (caller: string) => void = () => {}

  constructor(first = background) {
    this.#ids = new Set([first])
  }

  get ids(): readonly string[] {
    return [...this.#ids]
  }

  join(caller: string): void {
    if (this.#ids.has(caller)) return
    this.#ids.add(caller)
    this.onJoin(caller)
  }
}
