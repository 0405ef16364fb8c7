import { type Finding, failure, warning } from '../../operator/examine.ts'

/** A row of `_cat/shards`: a primary shard of an index (`p`), or a replica (`r`). */
export interface Shard {
  readonly prirep: string
  readonly state: string
  readonly store: string | null
}

/** Larger shards are slow to move and to merge. */
const shardBytesMax = 50 * 2 ** 30

const wait = 'wait until it has finished, then run tidemark doctor again'
const problems = [
  {
    prirep: 'p',
    state: 'UNASSIGNED',
    about: 'on no node',
    finding: failure,
    advice: 'start the missing nodes; if their data is lost, run tidemark reindex',
  },
  { prirep: 'p', state: 'INITIALIZING', about: 'still being started', finding: failure, advice: wait },
  {
    prirep: 'r',
    state: 'UNASSIGNED',
    about: 'on no node',
    finding: warning,
    advice: 'start the missing nodes, or add one: until then, losing another node can lose data',
  },
  { prirep: 'r', state: 'INITIALIZING', about: 'still being made', finding: warning, advice: wait },
] as const

const nouns = { p: ['shard', 'shards'], r: ['copy', 'copies'] } as const

/** Findings about the shards of an index: those that cannot be searched, and missing replicas. */
export function examineShards(shards: readonly Shard[]): Finding[] {
  const findings = problems.flatMap(({ prirep, state, about, finding, advice }) => {
    const all = shards.filter((one) => one.prirep === prirep)
    const count = all.filter((one) => one.state === state).length
    if (count === 0) return []
    const colour = prirep === 'p' ? 'red' : 'yellow'
    return [finding(`the search index is ${colour}: ${someOf(count, all.length, nouns[prirep])} ${about}`, advice)]
  })
  if (!shards.some(({ store }) => Number(store ?? 0) > shardBytesMax)) return findings
  const about = `shards of the search index are larger than ${shardBytesMax / 2 ** 30} GiB`
  return [...findings, warning(about, 'set TIDEMARK_SEARCH_SHARDS higher, then run tidemark reindex')]
}

function someOf(count: number, all: number, [one, many]: readonly [string, string]): string {
  if (all === 1) return `its only ${one} is`
  return `${count} of its ${all} ${many} ${count === 1 ? 'is' : 'are'}`
}
