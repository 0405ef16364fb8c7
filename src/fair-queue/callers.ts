/** The caller for work that nobody in particular waits for. */
const background = 'background'

/**
 * The callers that wait for one piece of work. It waits in the queue of each, and is done when the first of them is
 * served. Others may join while it waits; `onJoin` is then called.
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
