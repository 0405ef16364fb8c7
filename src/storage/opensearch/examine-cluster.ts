import type { Finding } from '../../operator/examine.ts'
import type { Cluster } from './cluster.ts'
import { indexDefinition } from './mapping.ts'
import { blockedAdvice } from './report-health.ts'

const examineMs = 10_000
const oldestVersion = 3
const knnPlugin = 'opensearch-knn'
/** Beyond it a shard is slow to move and to merge. */
const shardBytesMax = 50 * 2 ** 30

type Settings = Partial<Record<'defaults' | 'persistent' | 'transient', DiskSettings>>
interface DiskSettings {
  readonly cluster: { readonly routing: { readonly allocation: { readonly disk: { readonly watermark: Marks } } } }
}
type Marks = Partial<Record<'low' | 'flood_stage', string>>

/** What an operator should know of the cluster itself and of the index that is served, and what to do. */
export async function examineCluster(cluster: Cluster, served: string): Promise<Finding[]> {
  const get = <Answer>(path: string, query: Record<string, string | boolean> = {}): Promise<Answer> =>
    cluster.call<Answer>({ method: 'GET', path, query, harmless: true, timeoutMs: examineMs })
  const json = { format: 'json', bytes: 'b' }
  const [about, { status, unassigned_shards: unassigned }, nodes, plugins, disks, settings, shards, indexes] =
    await Promise.all([
      get<{ version: { number: string; distribution?: string } }>('/'),
      get<{ status: string; unassigned_shards: number }>(`/_cluster/health/${served}`),
      get<{ name: string; version: string }[]>('/_cat/nodes', { ...json, h: 'name,version' }),
      get<{ name: string; component: string }[]>('/_cat/plugins', { ...json, h: 'name,component' }),
      get<Disk[]>('/_cat/allocation', { ...json, h: 'node,disk.avail,disk.total' }),
      get<Settings>('/_cluster/settings', { include_defaults: true, filter_path: watermarks }),
      get<{ store: string | null }[]>(`/_cat/shards/${served}`, { ...json, h: 'store' }),
      get<Record<string, SeenIndex>>(`/${served}`, {
        filter_path: '*.settings.index.blocks,*.mappings.properties',
      }),
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
    say('failure', `the search index is red: ${unassigned} of its shards are on no node`, advice)
  } else if (status === 'yellow') {
    const advice = 'start the nodes that are gone: until then one more that goes can take data with it'
    say('warning', `the search index is yellow: ${unassigned} copies of its shards are on no node`, advice)
  }
  const marks = [settings.defaults, settings.persistent, settings.transient].map(
    (one) => one?.cluster.routing.allocation.disk.watermark,
  )
  findings.push(...fullDisks(disks, Object.assign({}, ...marks)))
  if (shards.some(({ store }) => Number(store ?? 0) > shardBytesMax)) {
    const advice = 'set TIDEMARK_SEARCH_SHARDS higher, then run tidemark reindex'
    say('warning', `shards of the search index are larger than ${shardBytesMax / 2 ** 30} GiB`, advice)
  }
  const seen = Object.values(indexes)[0]
  if (Object.values(seen?.settings?.index.blocks ?? {}).includes('true')) say('failure', ...blockedAdvice)
  const wrong = differentFields(indexDefinition({}, 1).mappings.properties, seen?.mappings?.properties ?? {})
  if (wrong.length > 0) {
    const what = `fields of the search index are not as this version makes them: ${wrong.slice(0, 5).join(', ')}`
    say('failure', what, 'run tidemark reindex: it makes the index anew')
  }
  return findings
}

interface SeenIndex {
  readonly settings?: { readonly index: { readonly blocks: Readonly<Record<string, string>> } }
  readonly mappings?: { readonly properties?: Fields }
}

interface Disk {
  readonly node: string
  readonly 'disk.avail': string | null
  readonly 'disk.total': string | null
}

const watermarks = '*.cluster.routing.allocation.disk.watermark'

/** The cluster's own marks: beyond the first it puts no more shards on a node, beyond the last no more writes into them. */
function fullDisks(disks: readonly Disk[], marks: Marks): Finding[] {
  return disks.flatMap(({ node, 'disk.avail': avail, 'disk.total': total }) => {
    if (avail === null || total === null) return []
    const isBeyond = (mark: 'low' | 'flood_stage', usual: string): boolean =>
      Number(avail) <= freeBytes(marks[mark] ?? usual, Number(total))
    const isBlocked = isBeyond('flood_stage', '95%')
    if (!isBlocked && !isBeyond('low', '85%')) return []
    const percent = Math.floor(100 * (1 - Number(avail) / Number(total)))
    const told = `the disk of node ${node} of the search cluster is ${percent} % full`
    const about = `${told}, beyond the mark from which on it takes no more ${isBlocked ? 'writes' : 'shards'}`
    return { state: isBlocked ? 'failure' : 'warning', about, advice: 'make room there, or add a node' }
  })
}

const units: Readonly<Record<string, number>> = {
  b: 1,
  kb: 2 ** 10,
  mb: 2 ** 20,
  gb: 2 ** 30,
  tb: 2 ** 40,
  pb: 2 ** 50,
}

/** What is to be left free by a mark: it says how much may be used (85%, 0.85), or how much must be free (20gb). */
export function freeBytes(mark: string, total: number): number {
  const [, number = '0', unit = ''] = /^([\d.]+)\s*(%|[kmgtp]?b)?$/i.exec(mark.trim()) ?? []
  if (unit === '%') return total * (1 - Number(number) / 100)
  return unit === '' ? total * (1 - Number(number)) : Number(number) * units[unit.toLowerCase()]!
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
