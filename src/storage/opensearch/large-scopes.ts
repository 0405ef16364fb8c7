/** Scopes that are remembered; of more, those that were not asked for longest are forgotten. */
const rememberedMax = 500

/**
 * Which searches by vectors had so many chunks before them that the graph was asked, by what they ask to be counted: the next
 * one asks the graph together with the count. That still decides, and what was asked in vain is left.
 */
export class LargeScopes {
  readonly #known = new Set<string>()

  has(counted: string): boolean {
    return this.#known.has(counted)
  }

  note(counted: string, isLarge: boolean): void {
    this.#known.delete(counted)
    if (!isLarge) return
    this.#known.add(counted)
    if (this.#known.size > rememberedMax) this.#known.delete(this.#known.keys().next().value!)
  }
}
