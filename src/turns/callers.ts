/** The one in whose name all is done that nobody in particular waits for. */
const background = 'background'

/**
 * Who waits for one embedding. It stands in the line of each and is made in the turn of whoever comes first; others may
 * join while it waits, and whoever hands it on is told.
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
