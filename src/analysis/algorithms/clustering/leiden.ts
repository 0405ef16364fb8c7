/**
 * Community detection in a weighted graph by the Leiden algorithm (Traag, Waltman, van Eck, From Louvain to Leiden,
 * 2019, arXiv:1810.08473), for modularity with a resolution: the quality of a community is the weight within it, minus
 * the resolution times the expected weight.
 *
 *   move        moves every node to the neighbouring community with the largest gain, until no move gains
 *   refine      splits each community and merges well-connected nodes within it again
 *   aggregate   the refined parts become nodes, which start in their former communities; repeat
 *
 * All of this is repeated from its result until nothing changes, at most ten times. The original chooses at random.
 * This version visits nodes in order and takes the best choice, so the same graph always gives the same communities.
 */

/** A weighted graph without loops. */
export interface Graph {
  readonly nodes: number
  /**
   * The neighbours of node i are from `starts[i]` to `starts[i + 1]` (CSR). Every edge is stored at both ends; there
   * are no loops.
   */
  readonly starts: Uint32Array
  readonly neighbours: Uint32Array
  readonly weights: Float64Array
}

/** A graph at a level of aggregation. Strengths include the weight within a node. */
interface Level extends Graph {
  readonly strengths: Float64Array
  /** The sum of the strengths. */
  readonly total: number
}

const roundsMax = 10
/** Smaller gains are rounding errors. */
const gainMin = 1e-12

/** Returns the community number of each node, from 0. */
export function leiden(graph: Graph, resolution: number): Int32Array {
  const strengths = new Float64Array(graph.nodes)
  for (let node = 0; node < graph.nodes; node++) {
    for (let at = graph.starts[node]!; at < graph.starts[node + 1]!; at++) strengths[node]! += graph.weights[at]!
  }
  const base = { ...graph, strengths, total: strengths.reduce((sum, one) => sum + one, 0) }
  let communities: Int32Array = Int32Array.from({ length: graph.nodes }, (_, node) => node)
  for (let round = 0; round < roundsMax; round++) {
    const next = oneRound(base, communities, resolution)
    if (next.every((community, node) => community === communities[node])) break
    communities = next
  }
  return communities
}

function oneRound(base: Level, from: Int32Array, resolution: number): Int32Array {
  let level = base
  let communities: Int32Array = Int32Array.from(from)
  /** The node of the level that contains each node of the graph. */
  const nodeOf = Int32Array.from({ length: base.nodes }, (_, node) => node)
  for (;;) {
    move(level, communities, resolution)
    const { numbers, count } = numbered(refine(level, communities, resolution))
    if (count === level.nodes) break
    const next = new Int32Array(count)
    for (let node = 0; node < level.nodes; node++) next[numbers[node]!] = communities[node]!
    for (let node = 0; node < base.nodes; node++) nodeOf[node] = numbers[nodeOf[node]!]!
    level = aggregate(level, numbers, count)
    communities = numbered(next).numbers
  }
  return numbered(nodeOf.map((node) => communities[node]!)).numbers
}

/** The weight between a node and each neighbouring community. */
class Ties {
  readonly weights: Float64Array
  readonly touched: number[] = []

  constructor(communities: number) {
    this.weights = new Float64Array(communities)
  }

  add(community: number, weight: number): void {
    if (this.weights[community] === 0) this.touched.push(community)
    this.weights[community]! += weight
  }

  clear(): void {
    for (const community of this.touched) this.weights[community] = 0
    this.touched.length = 0
  }
}

/** Moves nodes in place. Only nodes whose neighbours have moved are visited again. */
function move(level: Level, communities: Int32Array, resolution: number): void {
  const { nodes, starts, neighbours, weights, strengths, total } = level
  const sums = new Float64Array(nodes)
  const sizes = new Int32Array(nodes)
  for (let node = 0; node < nodes; node++) {
    sums[communities[node]!]! += strengths[node]!
    sizes[communities[node]!]!++
  }
  const empty: number[] = []
  for (let community = nodes - 1; community >= 0; community--) if (sizes[community] === 0) empty.push(community)
  const ties = new Ties(nodes)
  // A ring buffer: each node is queued at most once.
  const queue = Int32Array.from({ length: nodes }, (_, node) => node)
  const waits = new Uint8Array(nodes).fill(1)
  for (let first = 0, waiting = nodes; waiting > 0; waiting--) {
    const node = queue[first]!
    first = (first + 1) % nodes
    waits[node] = 0
    const own = communities[node]!
    for (let at = starts[node]!; at < starts[node + 1]!; at++) ties.add(communities[neighbours[at]!]!, weights[at]!)
    sums[own]! -= strengths[node]!
    const gainOf = (to: number): number => ties.weights[to]! - (resolution * strengths[node]! * sums[to]!) / total
    let best = own
    let gain = gainOf(own)
    for (const to of ties.touched) {
      const other = gainOf(to)
      if (other > gain + gainMin) {
        best = to
        gain = other
      }
    }
    // If staying is a loss, the node gets a community of its own.
    if (gain < -gainMin) best = empty.at(-1) ?? best
    if (best === empty.at(-1)) empty.pop()
    ties.clear()
    sums[best]! += strengths[node]!
    if (best === own) continue
    communities[node] = best
    sizes[best]!++
    if (--sizes[own]! === 0) empty.push(own)
    for (let at = starts[node]!; at < starts[node + 1]!; at++) {
      const other = neighbours[at]!
      if (waits[other] === 1 || communities[other] === best) continue
      waits[other] = 1
      queue[(first + waiting - 1) % nodes] = other
      waiting++
    }
  }
}

/**
 * Returns the part of its community to which each node belongs, named by one of the part's nodes. Each part is
 * connected, and has a higher quality than its pieces.
 */
function refine(level: Level, communities: Int32Array, resolution: number): Int32Array {
  const { nodes, starts, neighbours, weights, strengths, total } = level
  const sums = new Float64Array(nodes)
  for (let node = 0; node < nodes; node++) sums[communities[node]!]! += strengths[node]!
  const parts = Int32Array.from({ length: nodes }, (_, node) => node)
  const sizes = new Int32Array(nodes).fill(1)
  const partSums = Float64Array.from(strengths)
  /** The weight between each part and the rest of its community. */
  const outward = new Float64Array(nodes)
  for (let node = 0; node < nodes; node++) {
    for (let at = starts[node]!; at < starts[node + 1]!; at++) {
      if (communities[neighbours[at]!] === communities[node]) outward[node]! += weights[at]!
    }
  }
  const isWellConnected = (part: number, community: number): boolean =>
    outward[part]! + gainMin >= (resolution * partSums[part]! * (sums[community]! - partSums[part]!)) / total
  const ties = new Ties(nodes)
  for (let node = 0; node < nodes; node++) {
    const community = communities[node]!
    if (sizes[parts[node]!] !== 1 || parts[node] !== node || !isWellConnected(node, community)) continue
    for (let at = starts[node]!; at < starts[node + 1]!; at++) {
      const other = neighbours[at]!
      if (communities[other] === community) ties.add(parts[other]!, weights[at]!)
    }
    let best = node
    let gain = 0
    for (const part of ties.touched) {
      if (!isWellConnected(part, community)) continue
      const other = ties.weights[part]! - (resolution * strengths[node]! * partSums[part]!) / total
      if (other > gain + gainMin) {
        best = part
        gain = other
      }
    }
    if (best !== node) {
      parts[node] = best
      sizes[best]!++
      sizes[node] = 0
      partSums[best]! += strengths[node]!
      outward[best]! += outward[node]! - 2 * ties.weights[best]!
    }
    ties.clear()
  }
  return parts
}

function aggregate(level: Level, numbers: Int32Array, count: number): Level {
  const members: number[][] = Array.from({ length: count }, () => [])
  for (let node = 0; node < level.nodes; node++) members[numbers[node]!]!.push(node)
  const starts = new Uint32Array(count + 1)
  const neighbours: number[] = []
  const weights: number[] = []
  const strengths = new Float64Array(count)
  const ties = new Ties(count)
  for (const [number, own] of members.entries()) {
    for (const node of own) {
      strengths[number]! += level.strengths[node]!
      for (let at = level.starts[node]!; at < level.starts[node + 1]!; at++) {
        const other = numbers[level.neighbours[at]!]!
        if (other !== number) ties.add(other, level.weights[at]!)
      }
    }
    for (const other of ties.touched) {
      neighbours.push(other)
      weights.push(ties.weights[other]!)
    }
    ties.clear()
    starts[number + 1] = neighbours.length
  }
  return {
    nodes: count,
    starts,
    neighbours: Uint32Array.from(neighbours),
    weights: Float64Array.from(weights),
    strengths,
    total: level.total,
  }
}

/** Numbers labels from 0 in the order in which they first occur. */
function numbered(labels: Int32Array): { numbers: Int32Array; count: number } {
  const known = new Map<number, number>()
  const numbers = labels.map((label) => {
    const found = known.get(label) ?? known.size
    known.set(label, found)
    return found
  })
  return { numbers, count: known.size }
}
