/** A lost node is left out for so long, and twice as long each time that it is lost again, up to half an hour. */
const leftOutMs = 60_000
const doublingsMax = 5

interface Known<Node> {
  readonly node: Node
  /** Losses since the node last answered. */
  losses: number
  /** On the clock of `performance`; null while the node counts as available. */
  leftOutUntil: number | null
}

/** Chooses the node for a call: available ones in round robin, or all of them if none is available. */
export class AvailableNodes<Node> {
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
    // All requests in progress at a node fail together; that is one loss.
    if (known.leftOutUntil !== null && Number.isFinite(known.leftOutUntil)) return
    known.leftOutUntil = performance.now() + leftOutMs * 2 ** Math.min(known.losses++, doublingsMax)
  }

  /** A node whose time is over is pinged in parallel; the call does not wait for it. */
  #lookForLost(): void {
    for (const known of this.#known) {
      if (known.leftOutUntil === null || known.leftOutUntil > performance.now()) continue
      // Prevents a second ping during the first.
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
