/**
 * Matches the clusters of a run with the topics of the previous run.
 *
 * Two clusters overlap in the chunks that are in both. If a document has no chunk in common, because it has another
 * version by now, each of its earlier chunks counts as distributed equally over the current ones.
 *
 *   kin       two clusters whose overlap is at least half of the smaller one
 *   continue  the id is kept in pairs of kin, largest overlap first, each cluster once
 *
 *   new        has no earlier kin
 *   continued  keeps the id of its only kin
 *   split      has one earlier kin, whose id is kept by another cluster
 *   merged     has several earlier kin; keeps the id of one of them, unless other clusters keep them all
 *   gone       an id of the previous run that is not kept; the parents of other clusters show where it went
 *
 * An id is kept by at most one cluster, and every other cluster gets an id that was never used. The result depends only
 * on the contents of the clusters, not on the order of the input.
 */

/** A chunk and its cluster. */
export interface AssignedChunk {
  readonly chunkId: string
  readonly documentId: string
  /** Null if it is in no cluster. */
  readonly clusterId: string | null
}

const clusterStatuses = ['new', 'continued', 'split', 'merged', 'gone'] as const

export interface FollowedCluster {
  /** Its name in the current run; null if it is gone. */
  readonly name: string | null
  readonly clusterId: string
  readonly status: (typeof clusterStatuses)[number]
  /** Earlier kin, largest overlap first. */
  readonly parentClusterIds: readonly string[]
  /** The number of chunks; 0 if it is gone. */
  readonly size: number
}

/** The minimum overlap of kin, as a share of the smaller cluster. */
const kinShare = 0.5
/** Overlaps are counted in integer parts of a chunk, so that sums are exact in any order. Divisible by 1 to 16. */
const partsPerChunk = 720_720

interface Kin {
  readonly before: string
  readonly now: string
  /** In parts of chunks. */
  readonly shared: number
}

/**
 * Returns the current clusters by size and id, then those that are gone, by id. `newIdOf` returns an id that no cluster
 * has had.
 */
export function followClusters(
  before: readonly AssignedChunk[],
  now: readonly AssignedChunk[],
  newIdOf: (name: string) => string,
): FollowedCluster[] {
  const sizesBefore = sizesOf(before)
  const sizes = sizesOf(now)
  const kin = sharedBetween(before, now)
    .filter((pair) => {
      const smaller = Math.min(sizesBefore.get(pair.before)!, sizes.get(pair.now)!)
      return pair.shared >= kinShare * smaller * partsPerChunk
    })
    .sort(byShared)
  const keptBy = new Map<string, string>()
  const idOf = new Map<string, string>()
  for (const pair of kin) {
    if (keptBy.has(pair.before) || idOf.has(pair.now)) continue
    keptBy.set(pair.before, pair.now)
    idOf.set(pair.now, pair.before)
  }
  const parentsOf = Map.groupBy(kin, (pair) => pair.now)
  const followed = [...sizes].map(([name, size]): FollowedCluster => {
    const parentClusterIds = (parentsOf.get(name) ?? []).map((pair) => pair.before)
    const kept = idOf.get(name)
    const status =
      parentClusterIds.length === 0
        ? 'new'
        : parentClusterIds.length > 1
          ? 'merged'
          : kept === undefined
            ? 'split'
            : 'continued'
    return { name, clusterId: kept ?? newIdOf(name), status, parentClusterIds, size }
  })
  const gone = [...sizesBefore.keys()]
    .filter((clusterId) => !keptBy.has(clusterId))
    .map((clusterId): FollowedCluster => ({ name: null, clusterId, status: 'gone', parentClusterIds: [], size: 0 }))
  return [...followed, ...gone].sort((a, b) => b.size - a.size || (a.clusterId < b.clusterId ? -1 : 1))
}

function byShared(a: Kin, b: Kin): number {
  if (a.shared !== b.shared) return b.shared - a.shared
  if (a.before !== b.before) return a.before < b.before ? -1 : 1
  return a.now < b.now ? -1 : 1
}

function sizesOf(chunks: readonly AssignedChunk[]): Map<string, number> {
  const sizes = new Map<string, number>()
  for (const { clusterId } of chunks) if (clusterId !== null) sizes.set(clusterId, (sizes.get(clusterId) ?? 0) + 1)
  return sizes
}

/** Returns all pairs of clusters with any overlap. */
function sharedBetween(before: readonly AssignedChunk[], now: readonly AssignedChunk[]): Kin[] {
  const shared = new Map<string, Map<string, number>>()
  const add = (one: string, other: string, parts: number): void => {
    const own = shared.get(one) ?? new Map<string, number>()
    shared.set(one, own)
    own.set(other, (own.get(other) ?? 0) + parts)
  }
  const earlierOf = Map.groupBy(before, ({ documentId }) => documentId)
  for (const [documentId, chunks] of Map.groupBy(now, (chunk) => chunk.documentId)) {
    const earlier = earlierOf.get(documentId) ?? []
    const clusterOf = new Map(chunks.map((chunk) => [chunk.chunkId, chunk.clusterId]))
    const same = earlier.filter(({ chunkId }) => clusterOf.has(chunkId))
    for (const { chunkId, clusterId } of same) {
      const cluster = clusterOf.get(chunkId)!
      if (clusterId !== null && cluster !== null) add(clusterId, cluster, partsPerChunk)
    }
    if (same.length > 0) continue
    const longer = Math.max(earlier.length, chunks.length)
    for (const [one, count] of sizesOf(earlier)) {
      for (const [other, counted] of sizesOf(chunks))
        add(one, other, Math.floor((count * counted * partsPerChunk) / longer))
    }
  }
  return [...shared].flatMap(([one, own]) =>
    [...own].map(([other, parts]) => ({ before: one, now: other, shared: parts })),
  )
}
