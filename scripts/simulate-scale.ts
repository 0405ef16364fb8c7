/**
 * `node scripts/simulate-scale.ts` estimates what many chunks need with PostgreSQL, OpenSearch and S3. It computes the
 * figures of docs/scale.md from the unit costs below, and simulates two months of the feed hour by hour: documents
 * arrive, one transaction at a time writes them, one process feeds them to the cluster in order, and their events are
 * dropped after 30 days, a partition per day.
 */

/**
 * For one chunk (about 220 words, 384 dimensions), unless stated otherwise. docs/scale.md says where each was measured.
 */
const unit = {
  storeBytes: 6100,
  clusterBytes: 14_800,
  embeddedMemoryBytes: 1000,
  eventBytes: 250,
  storedPerSecond: 3800,
  fedPerSecond: 309,
  vectorMs: 78,
}
const gib = 2 ** 30
const rules = {
  shardBytes: 50 * gib,
  /** Vectors and their graph, which searches need in memory: 384 floats and 32 neighbours of 4 bytes. */
  inMemoryBytes: 384 * 4 + 32 * 4,
  nodeMemory: 64 * gib,
  /** Half of the memory is the heap, and a quarter of the rest is left for everything else. */
  nodeCache: 24 * gib,
  nodeDisk: 4 * 1024 * gib,
  diskUsed: 0.75,
  copies: 2,
  retentionDays: 30,
  partitionRows: 100e6,
}

interface Size {
  readonly chunks: number
  /** New and changed chunks per day, as a share of all. */
  readonly changedShare: number
}
const sizes: readonly Size[] = [
  { chunks: 10e6, changedShare: 0.01 },
  { chunks: 1e9, changedShare: 0.01 },
  { chunks: 100e9, changedShare: 0.01 },
]

const short = (value: number): string => {
  const [divisor, name] = value >= 1e12 ? [1e12, 'T'] : value >= 1e9 ? [1e9, 'G'] : value >= 1e6 ? [1e6, 'M'] : [1, '']
  const shown = value / divisor
  return `${shown >= 100 || Number.isInteger(shown) ? Math.round(shown) : shown.toFixed(1)}${name}`
}
const bytes = (value: number): string => {
  const tib = 1024 * gib
  return value >= tib ? `${(value / tib).toFixed(1)} TiB` : `${(value / gib).toFixed(1)} GiB`
}

/** Shards and nodes of the cluster. */
function layoutOf(chunks: number) {
  const primary = chunks * unit.clusterBytes
  const shards = Math.max(1, Math.ceil(primary / rules.shardBytes))
  const byDisk = Math.ceil((primary * rules.copies) / (rules.nodeDisk * rules.diskUsed))
  const byMemory = Math.ceil((chunks * rules.inMemoryBytes * rules.copies) / rules.nodeCache)
  return { primary, shards, byDisk, byMemory, nodes: Math.max(3, byDisk, byMemory) }
}

/** The weight of each hour of a day: three times as much at noon as at midnight. */
const hours = Array.from({ length: 24 }, (_, hour) => 1 - 0.5 * Math.cos((2 * Math.PI * hour) / 24))
const sum = hours.reduce((all, one) => all + one, 0)

/** Simulates two months of the feed, hour by hour, with this many writers and feeders in parallel. */
function simulateFeed({ chunks, changedShare }: Size, lanes: number) {
  const perDay = chunks * changedShare
  let waitingToStore = 0
  let waitingToFeed = 0
  let longestLagHours = 0
  const partitions: number[] = []
  for (let hour = 0; hour < 24 * 2 * rules.retentionDays; hour++) {
    const arrived = (perDay * hours[hour % 24]!) / sum
    const stored = Math.min(waitingToStore + arrived, unit.storedPerSecond * lanes * 3600)
    waitingToStore += arrived - stored
    const fed = Math.min(waitingToFeed + stored, unit.fedPerSecond * lanes * 3600)
    waitingToFeed += stored - fed
    longestLagHours = Math.max(longestLagHours, (waitingToStore + waitingToFeed) / (unit.fedPerSecond * lanes * 3600))
    if (hour % 24 === 0) partitions.push(0)
    partitions[partitions.length - 1]! += stored
    // An expired partition is dropped at once, whatever it holds.
    if (partitions.length > rules.retentionDays) partitions.shift()
  }
  const events = partitions.reduce((all, one) => all + one, 0)
  return { perDay, events, longestLagHours, largest: Math.max(...partitions) }
}

/** Returns the lowest number of lanes with which everything is searchable within an hour, at any time of the day. */
function lanesFor(size: Size): number {
  for (let lanes = 1; ; lanes = Math.ceil(lanes * 1.1)) if (simulateFeed(size, lanes).longestLagHours < 1) return lanes
}

console.log('chunks | store | index, one copy | shards | nodes by disk | nodes by memory | nodes')
for (const { chunks } of sizes) {
  const { primary, shards, byDisk, byMemory, nodes } = layoutOf(chunks)
  const cells = [short(chunks), bytes(chunks * unit.storeBytes), bytes(primary), shards, byDisk, byMemory, nodes]
  console.log(cells.join(' | '))
}
console.log(
  '\nchunks | changed a day | a second at noon | lag with one writer and feeder | lanes for an hour | events kept | event table | partitions a day | cores for vectors',
)
for (const size of sizes) {
  const one = simulateFeed(size, 1)
  const lanes = lanesFor(size)
  const { perDay, events, largest } = simulateFeed(size, lanes)
  const atNoon = (perDay * hours[12]!) / sum / 3600
  const cells = [
    short(size.chunks),
    short(perDay),
    short(Math.round(atNoon)),
    one.longestLagHours < 1
      ? 'under an hour'
      : `grows: ${short(Math.round(one.longestLagHours))} hours after two months`,
    lanes,
    short(events),
    bytes(events * unit.eventBytes),
    Math.max(1, Math.ceil(largest / rules.partitionRows)),
    Math.max(1, Math.ceil((perDay * unit.vectorMs) / 1000 / 86_400)),
  ]
  console.log(cells.join(' | '))
}
