/** How long a lost node is excluded. The time doubles with each further loss, up to 32 minutes. */
const excludedMs = 60_000
const doublingsMax = 5

interface Known<Node> {
  readonly node: Node
  /** Losses since the node last answered. */
  losses: number
  /** In terms of `performance.now()`; null while the node counts as available. */
  excludedUntil: number | null
}

/** Chooses the node for a call, round robin: one of the available nodes, or any node if none is available. */
export class AvailableNodes<Node> {
  readonly #known: readonly Known<Node>[]
  readonly #isReachable: (node: Node) => Promise<boolean>
  #next = 0

  constructor(nodes: readonly Node[], isReachable: (node: Node) => Promise<boolean>) {
    this.#known = nodes.map((node) => ({ node, losses: 0, excludedUntil: null }))
    this.#isReachable = isReachable
  }

  next(): Node {
    const available = this.#known.filter(({ excludedUntil }) => excludedUntil === null)
    if (available.length < this.#known.length) this.#pingLost()
    const choice = available.length === 0 ? this.#known : available
    return choice[this.#next++ % choice.length]!.node
  }

  markAvailable(node: Node): void {
    const known = this.#of(node)
    known.losses = 0
    known.excludedUntil = null
  }

  markLost(node: Node): void {
    const known = this.#of(node)
    // All requests to a node that are in progress fail together. That counts as one loss.
    if (known.excludedUntil !== null && Number.isFinite(known.excludedUntil)) return
    known.excludedUntil = performance.now() + excludedMs * 2 ** Math.min(known.losses++, doublingsMax)
  }

  /** Pings lost nodes whose exclusion has ended. The current call does not wait for the result. */
  #pingLost(): void {
    for (const known of this.#known) {
      if (known.excludedUntil === null || known.excludedUntil > performance.now()) continue
      // Prevents a second ping during the first.
      known.excludedUntil = Number.POSITIVE_INFINITY
      const ping = async (): Promise<void> => {
        if (await this.#isReachable(known.node)) this.markAvailable(known.node)
        else this.markLost(known.node)
      }
      void ping()
    }
  }

  #of(node: Node): Known<Node> {
    return this.#known.find((known) => known.node === node)!
  }
}
