import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from './until.ts'

/** The addresses of the test cluster's nodes; null if there is none. */
export const openSearchNodes: readonly string[] | null = process.env.TEST_OPENSEARCH_URL?.split(',') ?? null

/** Times in milliseconds, long enough that a busy cluster is not considered down. */
export const patience = { listMs: 60_000, silentAfterMs: 60_000 }

export const withoutOpenSearch =
  'TEST_OPENSEARCH_URL is not set: with JDK 21 or later and mvn, "npm run with-opensearch -- npm test" starts a cluster'

/**
 * Watermarks belong to the whole cluster, so tests that change them take turns. An index serves as the lock, because it
 * can be created only once.
 */
export async function changingWatermarks<T>(work: () => Promise<T>): Promise<T> {
  const lock = `${openSearchNodes![0]}/test-changes-watermarks`
  await until('no other test changes watermarks', async () => (await fetch(lock, { method: 'PUT' })).ok)
  try {
    return await work()
  } finally {
    await fetch(lock, { method: 'DELETE' })
  }
}

/** Returns all bytes that nodes on this machine keep of the indexes with this prefix, including operation logs. */
export async function bytesOnNodes(prefix: string): Promise<string> {
  const read = async <Answer>(path: string) => (await (await fetch(`${openSearchNodes![0]}/${path}`)).json()) as Answer
  const indexes = await read<Record<string, { settings: { index: { uuid: string } } }>>(`${prefix}-*/_settings`)
  const { nodes } = await read<{ nodes: Record<string, { settings: { path: { data: string | string[] } } }> }>(
    '_nodes/settings',
  )
  const uuids = Object.values(indexes).map(({ settings }) => settings.index.uuid)
  const folders = Object.values(nodes).flatMap(({ settings }) => settings.path.data)
  const files = folders
    .flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }))
    .filter((one) => one.isFile() && uuids.some((uuid) => one.parentPath.includes(uuid)))
  return files.map((one) => bytesIn(join(one.parentPath, one.name))).join('\n')
}

function bytesIn(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch (error) {
    // The cluster has removed the file in the meantime.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}
