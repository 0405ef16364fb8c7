import type { Cluster } from './cluster.ts'

/** All segments may have to be written again. */
const purgeMs = 6 * 3600_000

/**
 * Segments that hold something deleted are written again without it, however little it is. What a copy on another node
 * may still need to catch up is kept by the cluster for as long as `index.soft_deletes.retention_lease.period` says.
 */
export async function purgeIndex(cluster: Cluster, alias: string): Promise<void> {
  const call = (method: 'POST' | 'PUT', path: string, more: { query?: Record<string, boolean>; body?: object } = {}) =>
    cluster.call({ method, path: `/${alias}/${path}`, harmless: true, timeoutMs: purgeMs, ...more })
  await call('PUT', '_settings', { body: { 'index.merge.policy.expunge_deletes_allowed': 0 } })
  await call('POST', '_forcemerge', { query: { only_expunge_deletes: true, flush: true } })
}
