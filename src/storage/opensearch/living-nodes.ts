/** One that was lost is left out for so long, and twice as long each time that it is lost again, up to half an hour. */
const leftOutMs = 60_000
const doublingsMax = 5

interface Known<Node> {
  readonly node: Node
  /** Since it was last found. */
  losses: number
  /** By the clock of `performance`; null while it is taken to be there. */
  leftOutUntil: number | null
}

/** Whom to ask: those that are there, in turns. Where nobody is, all of them. */
export class LivingNodes<Node> {
  readonly #known: readonly Known<Node>[]
  readonly #isThere: (node: Node) => Promise<boolean>
  #turn = 0

  constructor(nodes: readonly Node[], isThere: (node: Node) => Promise<boolean>) {
    this.#known = nodes.map((node) => ({ node, losses: 0, leftOutUntil: null }))
    this.#isThere = isThere
  }

  next(): Node {
    const left = this.#known.filter(({ leftOutUntil }) => leftOutUntil === null)
    if (left.length < this.#known.length) this.#lookForLost()
    const asked = left.length === 0 ? this.#known : left
    return asked[this.#turn++ % asked.length]!.node
  }

  found(node: Node): void {
    const known = this.#of(node)
    known.losses = 0
    known.leftOutUntil = null
  }

  lost(node: Node): void {
    const known = this.#of(node)
    // All that were under way there lose it together, and that is once.
    if (known.leftOutUntil !== null && Number.isFinite(known.leftOutUntil)) return
    known.leftOutUntil = performance.now() + leftOutMs * 2 ** Math.min(known.losses++, doublingsMax)
  }

  /** Whose time is over is asked beside the call, which does not wait for it. */
  #lookForLost(): void {
    for (const known of this.#known) {
      if (known.leftOutUntil === null || known.leftOutUntil > performance.now()) continue
      // No second time while it is being asked.
      known.leftOutUntil = Number.POSITIVE_INFINITY
      const look = async (): Promise<void> => {
        if (await this.#isThere(known.node)) this.found(known.node)
        else this.lost(known.node)
      }
      void look()
    }
  }

  #of(node: Node): Known<Node> {
    return this.#known.find((known) => known.node === node)!
  }
}
