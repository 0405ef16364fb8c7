import { type Finding, failure, warning } from '../../operator/examine.ts'
import type { Cluster } from './cluster.ts'
import { disksPastWatermarks } from './disk-watermarks.ts'
import { indexDefinition } from './mapping.ts'
import { blockedAdvice, noManagerAdvice } from './report-health.ts'
import { examineShards, type Shard } from './shard-findings.ts'

const examineMs = 10_000
const oldestVersion = 3
const knnPlugin = 'opensearch-knn'

/** Findings about the cluster itself. Rejects if it cannot be reached. */
export async function examineCluster(cluster: Cluster): Promise<Finding[]> {
  const get = getFrom(cluster)
  const { version = {} } = await get<{ version?: { number?: string; distribution?: string } }>('/')
  const { number = 'of an unknown version', distribution = 'another product' } = version
  const isKnown = distribution === 'opensearch' && Number.parseInt(number, 10) >= oldestVersion
  const found = isKnown
    ? []
    : [failure(`the search cluster is ${distribution} ${number}`, `use OpenSearch ${oldestVersion} or later`)]
  return [
    ...found,
    ...(await checkAll('the search cluster', [
      ['which node is its manager', () => examineManager(get)],
      ['the versions and plugins of its nodes', () => examineNodes(get)],
      ['its settings', () => examineSettings(get)],
      ['the disks of its nodes', () => fullDisks(cluster)],
    ])),
  ]
}

/** Findings about the served index. */
export function examineServed(cluster: Cluster, served: string): Promise<Finding[]> {
  const get = getFrom(cluster)
  return checkAll('the search index', [
    [
      'where its shards are',
      async () => examineShards(await get<Shard[]>(`/_cat/shards/${served}`, { ...json, h: 'prirep,state,store' })),
    ],
    ['its blocks and fields', () => examineDefinition(get, served)],
  ])
}

const json = { format: 'json', bytes: 'b' }

type Get = <Answer>(path: string, query?: Record<string, string | boolean>) => Promise<Answer>
const getFrom =
  (cluster: Cluster): Get =>
  (path, query = {}) =>
    cluster.call({ method: 'GET', path, query, idempotent: true, timeoutMs: examineMs })

type Check = readonly [about: string, check: () => Promise<Finding[]>]

/** Runs all checks, even if one fails. Failures with the same reason are reported together. */
async function checkAll(subject: string, checks: readonly Check[]): Promise<Finding[]> {
  const failed = new Map<string, string[]>()
  const answers = await Promise.all(
    checks.map(async ([about, check]) => {
      try {
        return await check()
      } catch (error) {
        const { message } = error as Error
        failed.set(message, [...(failed.get(message) ?? []), about])
        return []
      }
    }),
  )
  const advice =
    'check that its nodes are running, and that the user or key of Tidemark may read its state and settings'
  const failures = [...failed].map(([message, about]) =>
    failure(`${subject} did not report ${about.join(', or ')}: ${message}`, advice),
  )
  return [...answers.flat(), ...failures]
}

/** Reads the local state of a node, which works without a cluster manager. */
async function examineManager(get: Get): Promise<Finding[]> {
  const { cluster_manager_node: manager } = await get<{ cluster_manager_node?: string | null }>(
    '/_cluster/state/cluster_manager_node',
    { local: true },
  )
  if (manager !== null && manager !== undefined) return []
  return [failure(...noManagerAdvice)]
}

async function examineNodes(get: Get): Promise<Finding[]> {
  const [nodes, plugins] = await Promise.all([
    get<{ name: string; version: string }[]>('/_cat/nodes', { ...json, h: 'name,version' }),
    get<{ name: string; component: string }[]>('/_cat/plugins', { ...json, h: 'name,component' }),
  ])
  const withoutPlugin = nodes.filter(
    ({ name }) => !plugins.some((one) => one.name === name && one.component === knnPlugin),
  )
  const missing = withoutPlugin.map(({ name }) =>
    failure(`node ${name} of the search cluster does not have ${knnPlugin}`, `install the plugin ${knnPlugin} on it`),
  )
  if (new Set(nodes.map(({ version }) => version)).size < 2) return missing
  const about = 'the nodes of the search cluster have different versions'
  return [warning(about, 'upgrade all of them to the newest version'), ...missing]
}

type FlatSettings = Readonly<Record<string, string | undefined>>

const blocks = {
  'cluster.blocks.create_index':
    'it refuses new indexes, so tidemark reindex fails, and the server cannot start if it needs a new index',
  'cluster.blocks.read_only': 'it refuses writes and new indexes; documents wait in the store',
  'cluster.blocks.read_only_allow_delete': 'it refuses writes and new indexes; documents wait in the store',
} as const

async function examineSettings(get: Get): Promise<Finding[]> {
  // `filter_path` does not support flat names, which contain dots.
  const answer = await get<Partial<Record<'defaults' | 'persistent' | 'transient', FlatSettings>>>(
    '/_cluster/settings',
    { include_defaults: true, flat_settings: true },
  )
  const settings: FlatSettings = { ...answer.defaults, ...answer.persistent, ...answer.transient }
  const blocked = Object.entries(blocks).flatMap(([name, effect]) => {
    if (settings[name] !== 'true') return []
    const advice = `free space on the disks of its nodes if they are full, then set ${name} to null (PUT _cluster/settings)`
    return [failure(`the search cluster is blocked by ${name}: ${effect}`, advice)]
  })
  const name = 'cluster.no_cluster_manager_block'
  if (settings[name] === 'all') return blocked
  const about = `${name} of the search cluster is ${settings[name] ?? 'not set'}: a node that loses its connection to the others keeps answering with old data`
  return [...blocked, warning(about, `set ${name} to all, in opensearch.yml or by PUT _cluster/settings`)]
}

interface SeenIndex {
  readonly settings?: { readonly index: { readonly blocks: Readonly<Record<string, string>> } }
  readonly mappings?: { readonly properties?: Fields }
}

async function examineDefinition(get: Get, served: string): Promise<Finding[]> {
  const indexes = await get<Record<string, SeenIndex>>(`/${served}`, {
    filter_path: '*.settings.index.blocks,*.mappings.properties',
  })
  const seen = Object.values(indexes)[0]
  const isBlocked = Object.values(seen?.settings?.index.blocks ?? {}).includes('true')
  const blocked = isBlocked ? [failure(...blockedAdvice)] : []
  const wrong = differentFields(indexDefinition({}, 1).mappings.properties, seen?.mappings?.properties ?? {})
  if (wrong.length === 0) return blocked
  const about = `fields of the search index differ from those of this version: ${wrong.slice(0, 5).join(', ')}`
  return [...blocked, failure(about, 'run tidemark reindex: it rebuilds the index')]
}

/** Above the low watermark a node gets no more shards; above the flood stage it refuses writes. */
async function fullDisks(cluster: Cluster): Promise<Finding[]> {
  const disks = await disksPastWatermarks(cluster, examineMs)
  return disks.map(({ node, percentFull, watermarks }) => {
    const isBlocked = watermarks.includes('flood_stage')
    const usage = `the disk of node ${node} of the search cluster is ${percentFull} % full`
    const about = `${usage}, above the watermark at which it refuses ${isBlocked ? 'writes' : 'shards'}`
    return { state: isBlocked ? 'failure' : 'warning', about, advice: 'free space on it, or add a node' }
  })
}

interface Fields {
  readonly [name: string]: { readonly type?: string; readonly properties?: Fields }
}

/** Names of fields that are missing or have another type. */
function differentFields(expected: Fields, found: Fields, path = ''): string[] {
  return Object.entries(expected).flatMap(([name, { type, properties = {} }]) => {
    const one = found[name]
    if (one === undefined || one.type !== type) return [`${path}${name}`]
    return differentFields(properties, one.properties ?? {}, `${path}${name}.`)
  })
}
