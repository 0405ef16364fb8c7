import type { Cluster } from './cluster.ts'

/** The disk of a node, with the watermarks of OpenSearch that it has exceeded. */
export interface FullDisk {
  readonly node: string
  readonly percentFull: number
  readonly watermarks: readonly string[]
}

interface Disk {
  readonly node: string
  readonly 'disk.avail': string | null
  readonly 'disk.total': string | null
}

type Watermarks = Partial<Record<'low' | 'high' | 'flood_stage', string>>
type Settings = Partial<Record<'defaults' | 'persistent' | 'transient', DiskSettings>>
interface DiskSettings {
  readonly cluster: { readonly routing: { readonly allocation: { readonly disk: { readonly watermark: Watermarks } } } }
}

const defaults = { low: '85%', high: '90%', flood_stage: '95%' } as const
const settingsPath = '*.cluster.routing.allocation.disk.watermark'

/** The nodes whose disk has exceeded at least one of the cluster's watermarks. */
export async function disksPastWatermarks(cluster: Cluster, timeoutMs: number): Promise<FullDisk[]> {
  const get = <Answer>(path: string, query: Record<string, string | boolean>): Promise<Answer> =>
    cluster.call<Answer>({ method: 'GET', path, query, idempotent: true, timeoutMs })
  const [disks, settings] = await Promise.all([
    get<Disk[]>('/_cat/allocation', { format: 'json', bytes: 'b', h: 'node,disk.avail,disk.total' }),
    get<Settings>('/_cluster/settings', { include_defaults: true, filter_path: settingsPath }),
  ])
  const set = [settings.defaults, settings.persistent, settings.transient].map(
    (one) => one?.cluster.routing.allocation.disk.watermark,
  )
  const marks: Record<string, string> = Object.assign({}, defaults, ...set)
  return disks.flatMap(({ node, 'disk.avail': avail, 'disk.total': total }) => {
    if (avail === null || total === null) return []
    const watermarks = Object.keys(defaults).filter((name) => Number(avail) <= freeBytes(marks[name]!, Number(total)))
    if (watermarks.length === 0) return []
    return [{ node, percentFull: Math.floor(100 * (1 - Number(avail) / Number(total))), watermarks }]
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

/**
 * The free bytes that a watermark requires. A watermark is the share that may be used (85%, 0.85), or the size that
 * must be free (20gb).
 */
export function freeBytes(mark: string, total: number): number {
  const [, number = '0', unit = ''] = /^([\d.]+)\s*(%|[kmgtp]?b)?$/i.exec(mark.trim()) ?? []
  if (unit === '%') return total * (1 - Number(number) / 100)
  return unit === '' ? total * (1 - Number(number)) : Number(number) * units[unit.toLowerCase()]!
}
