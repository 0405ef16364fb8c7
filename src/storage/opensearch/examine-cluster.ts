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
    ...(await askedEach('the search cluster', [
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
  return askedEach('the search index', [
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
    cluster.call({ method: 'GET', path, query, harmless: true, timeoutMs: examineMs })

type Question = readonly [about: string, ask: () => Promise<Finding[]>]

/** Asks all questions, even if one is not answered. Failures with the same reason are reported together. */
async function askedEach(whom: string, questions: readonly Question[]): Promise<Finding[]> {
  const unanswered = new Map<string, string[]>()
  const answers = await Promise.all(
    questions.map(async ([about, ask]) => {
      try {
        return await ask()
      } catch (error) {
        const { message } = error as Error
        unanswered.set(message, [...(unanswered.get(message) ?? []), about])
        return []
      }
    }),
  )
  const advice = 'see that its nodes run, and that the user or key of Tidemark may read the state and the settings'
  const failures = [...unanswered].map(([message, about]) =>
    failure(`${whom} does not tell ${about.join(', or ')}: ${message}`, advice),
  )
  return [...answers.flat(), ...failures]
}

/** Any node reports the manager that it knows, even if it knows none. */
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
  const without = nodes.filter(({ name }) => !plugins.some((one) => one.name === name && one.component === knnPlugin))
  const lacking = without.map(({ name }) =>
    failure(`node ${name} of the search cluster lacks ${knnPlugin}`, `install the plugin ${knnPlugin} there`),
  )
  if (new Set(nodes.map(({ version }) => version)).size < 2) return lacking
  const about = 'the nodes of the search cluster have different versions'
  return [warning(about, 'upgrade all of them to the newest version'), ...lacking]
}

type FlatSettings = Readonly<Record<string, string | undefined>>

const blocks = {
  'cluster.blocks.create_index':
    'it refuses new indexes, so tidemark reindex fails, and so does a start that needs a new index',
  'cluster.blocks.read_only': 'it refuses writes and new indexes; documents wait in the store',
  'cluster.blocks.read_only_allow_delete': 'it refuses writes and new indexes; documents wait in the store',
} as const

async function examineSettings(get: Get): Promise<Finding[]> {
  // The filter of the response does not support names with dots.
  const answer = await get<Partial<Record<'defaults' | 'persistent' | 'transient', FlatSettings>>>(
    '/_cluster/settings',
    { include_defaults: true, flat_settings: true },
  )
  const settings: FlatSettings = { ...answer.defaults, ...answer.persistent, ...answer.transient }
  const blocked = Object.entries(blocks).flatMap(([name, effect]) => {
    if (settings[name] !== 'true') return []
    const advice = `make room on the disks of its nodes if they are full, then set ${name} to null (PUT _cluster/settings)`
    return [failure(`the search cluster is blocked by ${name}: ${effect}`, advice)]
  })
  const name = 'cluster.no_cluster_manager_block'
  if (settings[name] === 'all') return blocked
  const about = `${name} of the search cluster is ${settings[name] ?? 'not set'}: a node that is cut off from the others keeps answering with old data`
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
  const about = `fields of the search index are not as this version makes them: ${wrong.slice(0, 5).join(', ')}`
  return [...blocked, failure(about, 'run tidemark reindex: it rebuilds the index')]
}

/** Above the low watermark a node gets no more shards; above the flood stage it refuses writes. */
async function fullDisks(cluster: Cluster): Promise<Finding[]> {
  const disks = await disksPastWatermarks(cluster, examineMs)
  return disks.map(({ node, percentFull, watermarks }) => {
    const isBlocked = watermarks.includes('flood_stage')
    const told = `the disk of node ${node} of the search cluster is ${percentFull} % full`
    const about = `${told}, above the watermark at which it refuses ${isBlocked ? 'writes' : 'shards'}`
    return { state: isBlocked ? 'failure' : 'warning', about, advice: 'make room there, or add a node' }
  })
}

interface Fields {
  readonly [name: string]: { readonly type?: string; readonly properties?: Fields }
}

/** Names of fields that are missing, or of another type. */
function differentFields(wanted: Fields, found: Fields, path = ''): string[] {
  return Object.entries(wanted).flatMap(([name, { type, properties = {} }]) => {
    const one = found[name]
    if (one === undefined || one.type !== type) return [`${path}${name}`]
    return differentFields(properties, one.properties ?? {}, `${path}${name}.`)
  })
}
