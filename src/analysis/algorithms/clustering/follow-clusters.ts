/**
 * Which clusters of a run are the topics of the run before it.
 *
 * What two clusters share are the chunks that lie in both. A document of which none is the same, because it has another
 * version by now, counts as if each of its chunks before had become each of now by equal shares.
 *
 *   kin       two clusters that share at least half of the smaller one
 *   continue  pairs of kin, those that share most first, each cluster once: the id goes on
 *
 *   new        has no kin before
 *   continued  goes on with the id of its one kin
 *   split      has one kin before, whose id goes on in another
 *   merged     has several kin before; it goes on with the id of one of them, unless all of those go on in others
 *   gone       an id of the run before that does not go on; into what it went the parents of others say
 *
 * An id goes on in one cluster at the most, and every other cluster gets an id that there never was. The result follows
 * from what lies where: not from the order in which it comes.
 */
export interface PlacedChunk {
  readonly chunkId: string
  readonly documentId: string
  /** Null where it is in none. */
  readonly clusterId: string | null
}

const clusterStatuses = ['new', 'continued', 'split', 'merged', 'gone'] as const

export interface FollowedCluster {
  /** What it is called among the chunks of now; null of one that is gone. */
  readonly name: string | null
  readonly clusterId: string
  readonly status: (typeof clusterStatuses)[number]
  /** The kin before, those first that it shares most with. */
  readonly parentClusterIds: readonly string[]
  /** Chunks; 0 of one that is gone. */
  readonly size: number
}

/** Of the smaller of two. */
const kinShare = 0.5
/** A chunk, in whole parts, so that sums are exact in any order: divided without rest by every number up to 16. */
const whole = 720_720

interface Kin {
  readonly before: string
  readonly now: string
  /** Parts of chunks. */
  readonly shared: number
}

/** Clusters of now by size and id, then what is gone, by id. `newIdOf` gives an id that no cluster has had. */
export function followClusters(
  before: readonly PlacedChunk[],
  now: readonly PlacedChunk[],
  newIdOf: (name: string) => string,
): FollowedCluster[] {
  const sizesBefore = sizesOf(before)
  const sizes = sizesOf(now)
  const kin = sharedBetween(before, now)
    .filter((pair) => {
      const smaller = Math.min(sizesBefore.get(pair.before)!, sizes.get(pair.now)!)
      return pair.shared >= kinShare * smaller * whole
    })
    .sort(byShared)
  const goesOnIn = new Map<string, string>()
  const idOf = new Map<string, string>()
  for (const pair of kin) {
    if (goesOnIn.has(pair.before) || idOf.has(pair.now)) continue
    goesOnIn.set(pair.before, pair.now)
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
    .filter((clusterId) => !goesOnIn.has(clusterId))
    .map((clusterId): FollowedCluster => ({ name: null, clusterId, status: 'gone', parentClusterIds: [], size: 0 }))
  return [...followed, ...gone].sort((a, b) => b.size - a.size || (a.clusterId < b.clusterId ? -1 : 1))
}

function byShared(a: Kin, b: Kin): number {
  if (a.shared !== b.shared) return b.shared - a.shared
  if (a.before !== b.before) return a.before < b.before ? -1 : 1
  return a.now < b.now ? -1 : 1
}

function sizesOf(chunks: readonly PlacedChunk[]): Map<string, number> {
  const sizes = new Map<string, number>()
  for (const { clusterId } of chunks) if (clusterId !== null) sizes.set(clusterId, (sizes.get(clusterId) ?? 0) + 1)
  return sizes
}

/** Every pair of clusters that share anything. */
function sharedBetween(before: readonly PlacedChunk[], now: readonly PlacedChunk[]): Kin[] {
  const shared = new Map<string, Map<string, number>>()
  const add = (one: string, other: string, parts: number): void => {
    const own = shared.get(one) ?? new Map<string, number>()
    shared.set(one, own)
    own.set(other, (own.get(other) ?? 0) + parts)
  }
  const earlierOf = Map.groupBy(before, ({ documentId }) => documentId)
  for (const [documentId, chunks] of Map.groupBy(now, (chunk) => chunk.documentId)) {
    const earlier = earlierOf.get(documentId) ?? []
    const placeOf = new Map(chunks.map((chunk) => [chunk.chunkId, chunk.clusterId]))
    const same = earlier.filter(({ chunkId }) => placeOf.has(chunkId))
    for (const { chunkId, clusterId } of same) {
      const place = placeOf.get(chunkId)!
      if (clusterId !== null && place !== null) add(clusterId, place, whole)
    }
    if (same.length > 0) continue
    const longer = Math.max(earlier.length, chunks.length)
    for (const [one, count] of sizesOf(earlier)) {
      for (const [other, counted] of sizesOf(chunks)) add(one, other, Math.floor((count * counted * whole) / longer))
    }
  }
  return [...shared].flatMap(([one, own]) =>
    [...own].map(([other, parts]) => ({ before: one, now: other, shared: parts })),
  )
}
