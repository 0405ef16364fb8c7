import type { Finding } from '../../operator/examine.ts'
import type { Cluster } from './cluster.ts'

const examineMs = 10_000
const oldestVersion = 3
const knnPlugin = 'opensearch-knn'
/** The cluster's own marks: it puts no more shards on a node from here on, and no more writes into them from there. */
const fullPercent = 85
const blockedPercent = 95
/** Beyond it a shard is slow to move and to merge. */
const shardBytesMax = 50 * 2 ** 30

/** What an operator should know of the cluster itself, and what to do. */
export async function examineCluster(cluster: Cluster): Promise<Finding[]> {
  const get = <Answer>(path: string, query: Record<string, string> = {}): Promise<Answer> =>
    cluster.call<Answer>({ method: 'GET', path, query, harmless: true, timeoutMs: examineMs })
  const json = { format: 'json', bytes: 'b' }
  const [about, { status, unassigned_shards: unassigned }, nodes, plugins, disks, shards] = await Promise.all([
    get<{ version: { number: string; distribution?: string } }>('/'),
    get<{ status: string; unassigned_shards: number }>('/_cluster/health'),
    get<{ name: string; version: string }[]>('/_cat/nodes', { ...json, h: 'name,version' }),
    get<{ name: string; component: string }[]>('/_cat/plugins', { ...json, h: 'name,component' }),
    get<{ node: string; 'disk.percent': string | null }[]>('/_cat/allocation', { ...json, h: 'node,disk.percent' }),
    get<{ index: string; store: string | null }[]>('/_cat/shards', { ...json, h: 'index,store' }),
  ])
  const findings: Finding[] = []
  const say = (state: Finding['state'], what: string, advice: string) => findings.push({ state, about: what, advice })
  const { number, distribution = 'another product' } = about.version
  if (distribution !== 'opensearch' || Number.parseInt(number, 10) < oldestVersion) {
    say('failure', `the search cluster is ${distribution} ${number}`, `use OpenSearch ${oldestVersion} or later`)
  }
  if (new Set(nodes.map(({ version }) => version)).size > 1) {
    say('warning', 'the nodes of the search cluster have different versions', 'bring all of them to the newest')
  }
  const without = nodes.filter(({ name }) => !plugins.some((one) => one.name === name && one.component === knnPlugin))
  for (const { name } of without) {
    say('failure', `node ${name} of the search cluster lacks ${knnPlugin}`, `install the plugin ${knnPlugin} there`)
  }
  if (status === 'red') {
    const advice = 'start the nodes that are gone; if their data is lost, run tidemark reindex'
    say('failure', `the search cluster is red: ${unassigned} shards are on no node`, advice)
  } else if (status === 'yellow') {
    const advice = 'start the nodes that are gone: until then one more that goes can take data with it'
    say('warning', `the search cluster is yellow: ${unassigned} copies of shards are on no node`, advice)
  }
  for (const { node, 'disk.percent': percent } of disks) {
    if (percent === null || Number(percent) < fullPercent) continue
    const state = Number(percent) >= blockedPercent ? 'failure' : 'warning'
    say(state, `the disk of node ${node} of the search cluster is ${percent} % full`, 'make room there, or add a node')
  }
  const large = shards.filter(({ store }) => Number(store ?? 0) > shardBytesMax)
  for (const index of new Set(large.map((one) => one.index))) {
    const advice = 'set TIDEMARK_SEARCH_SHARDS higher, then run tidemark reindex'
    say('warning', `shards of ${index} are larger than ${shardBytesMax / 2 ** 30} GiB`, advice)
  }
  return findings
}
