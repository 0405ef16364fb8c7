import type { PoolWatch } from '../../src/threads/pool.ts'

/** Records the events of pools, and lets a test wait for them. */
export class PoolEvents implements PoolWatch {
  readonly exits: string[] = []
  readonly rests: number[] = []
  readonly replacements: string[] = []
  readonly #serving = new Map<string, number>()
  readonly #listeners = new Set<() => void>()

  members(pool: string, change: 1 | -1): void {
    this.#serving.set(pool, this.count(pool) + change)
    this.#tell()
  }

  exited(pool: string, _cause: Error, restMs: number): void {
    this.exits.push(pool)
    this.rests.push(restMs)
    this.#tell()
  }

  replaced(pool: string): void {
    this.replacements.push(pool)
    this.#tell()
  }

  count(pool: string): number {
    return this.#serving.get(pool) ?? 0
  }

  /** Resolves when that many members of the pool are serving. */
  serving(pool: string, members: number): Promise<void> {
    return this.#until(() => this.count(pool) === members)
  }

  nextExit(pool: string): Promise<void> {
    const before = this.#exitsIn(pool)
    return this.#until(() => this.#exitsIn(pool) > before)
  }

  #exitsIn(pool: string): number {
    return this.exits.filter((name) => name === pool).length
  }

  #until(isSo: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!isSo()) return
        this.#listeners.delete(look)
        resolve()
      }
      this.#listeners.add(look)
      look()
    })
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener()
  }
}
