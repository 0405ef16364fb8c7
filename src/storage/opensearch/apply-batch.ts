import { hash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { IndexBatch, IndexChange } from '../../indexing/fed-index.ts'
import { changesOf } from '../../indexing/read-packed.ts'
import { type Cluster, ClusterError } from './cluster.ts'
import type { Profiles } from './profiles.ts'
import { changeDocument, type StoredDocument } from './stored-document.ts'

/**
 * Applies a batch: reads the documents that it changes, changes them in this process, and writes them as a whole; then
 * writes the position. A process that is killed in between applies the same batch again with the same result. Two
 * writers cannot undo each other's changes: writes use optimistic concurrency (`if_seq_no`), and a document that a
 * later batch has changed is not changed again.
 */
export async function applyBatch(
  cluster: Cluster,
  alias: string,
  profiles: Profiles,
  { position, changes: given }: IndexBatch,
): Promise<void> {
  const changes = changesOf(given)
  const ids = [...new Set(changes.map(({ documentId }) => documentId))]
  const [positionRead, ...read] = (await readAll(cluster, alias, [positionId, ...ids.map(storedId)])) as [
    Read,
    ...Read[],
  ]
  if (position !== null && position <= positionIn(positionRead)) return
  const dimensions = changes.some(bringsVectors) ? await profiles.writable() : noDimensions
  const documents = new Map(ids.map((id, i) => [id, { read: read[i]!, now: read[i]!._source ?? null }]))
  for (const change of changes) {
    const document = documents.get(change.documentId)!
    const at = document.now?.at ?? 0
    if (position !== null && at > position) continue
    document.now = changeDocument(document.now, change, position ?? at, dimensions)
  }
  await profiles.add(dimensions.changed)
  await writeAll(
    cluster,
    alias,
    [...documents.values()].flatMap(({ read: one, now }) =>
      now === null || now === one._source ? [] : [{ read: one, source: now }],
    ),
  )
  // The position is read by its id and never searched.
  if (position !== null)
    await writeAll(cluster, alias, [{ read: positionRead, source: { ...positionRead._source, position } }], false)
}

/** Records that no trace is left of data that was retired up to a position. */
export async function writePurged(cluster: Cluster, alias: string, purgedThrough: number): Promise<void> {
  const [read] = await readAll(cluster, alias, [positionId])
  await writeAll(cluster, alias, [{ read: read!, source: { ...read!._source, purgedThrough } }], false)
}

const bringsVectors = (change: IndexChange): boolean =>
  change.kind === 'set_vector' ||
  (change.kind === 'put_version' && change.chunks.some(({ vectors }) => vectors.length > 0))

const noDimensions = { of: () => undefined, fix: () => {}, changed: new Map<string, number>() }

/** The position up to which the index is fed, and the position up to which it is purged; both are 0 for a new index. */
export async function readPosition(
  cluster: Cluster,
  alias: string,
  timeoutMs: number,
): Promise<{ readonly position: number; readonly purgedThrough: number }> {
  const [read] = await readAll(cluster, alias, [positionId], timeoutMs)
  const { purgedThrough = 0 } = (read!._source ?? {}) as { purgedThrough?: number }
  return { position: positionIn(read!), purgedThrough }
}

const positionIn = ({ _source }: Read): number => (_source as { position?: number } | undefined)?.position ?? 0

const positionId = 'position'
/**
 * A hash, because it stays after the document is deleted. Half of SHA-256 is enough to distinguish documents. The
 * prefix `d` keeps it different from `positionId`.
 */
const storedId = (documentId: string): string => `d${hash('sha256', documentId, 'base64url').slice(0, 22)}`

/** A write also refreshes the index. A batch of some megabytes takes seconds even if the cluster does nothing else. */
const writeMs = 60_000
/**
 * If the node of a shard is lost, the shard soon has another primary, or has none for long. In the second case the
 * batch is refused, and sent again later.
 */
const primaryWait = '5s'
/** The cluster accepts 100 MB in one request. */
const bulkBytesMax = 8_000_000
/** After serialising this many bytes, which takes a millisecond or two, the event loop gets a turn. */
const yieldBytes = 250_000

interface Read {
  readonly _id: string
  readonly _seq_no?: number
  readonly _primary_term?: number
  readonly _source?: StoredDocument
}

async function readAll(
  cluster: Cluster,
  alias: string,
  ids: readonly string[],
  timeoutMs: number = writeMs,
): Promise<readonly Read[]> {
  const { docs } = await cluster.call<{ docs: readonly (Read & { readonly error?: { type: string } })[] }>({
    method: 'POST',
    path: `/${alias}/_mget`,
    body: { ids },
    idempotent: true,
    timeoutMs,
  })
  const failed = docs.find(({ error }) => error !== undefined)
  if (failed !== undefined) throw refused('reading', failed.error!.type)
  return docs
}

interface Write {
  readonly read: Read
  readonly source: object
}

async function writeAll(cluster: Cluster, alias: string, writes: readonly Write[], refresh = true): Promise<void> {
  let lines: string[] = []
  let bytes = 0
  let sinceYield = 0
  const send = async (): Promise<void> => {
    if (lines.length === 0) return
    const { errors, items } = await cluster.call<BulkAnswer>({
      method: 'POST',
      path: `/${alias}/_bulk`,
      // If the alias no longer exists, the cluster must not create an index of that name.
      query: { refresh, require_alias: true, timeout: primaryWait },
      lines,
      idempotent: false,
      timeoutMs: writeMs,
    })
    lines = []
    bytes = 0
    const failed = items.map((item) => item.index ?? item.create).find((item) => item?.error !== undefined)
    if (errors) throw refused('writing', failed?.error?.type ?? 'no_reason')
  }
  for (const { read, source } of writes) {
    const { _id, _seq_no, _primary_term } = read
    const expected = { if_seq_no: _seq_no, if_primary_term: _primary_term }
    const line = JSON.stringify(source)
    lines.push(JSON.stringify(_seq_no === undefined ? { create: { _id } } : { index: { _id, ...expected } }), line)
    bytes += line.length
    sinceYield += line.length
    if (bytes > bulkBytesMax) await send()
    if (sinceYield < yieldBytes) continue
    sinceYield = 0
    await setImmediate()
  }
  await send()
}

interface BulkAnswer {
  readonly errors: boolean
  readonly items: readonly { readonly index?: BulkItem; readonly create?: BulkItem }[]
}
interface BulkItem {
  readonly error?: { readonly type: string }
}

function refused(what: string, type: string): ClusterError {
  const reason =
    type === 'version_conflict_engine_exception'
      ? 'another process changed the document at the same time'
      : `OpenSearch answered ${type}`
  return new ClusterError(`${what} the search index failed: ${reason}`, 503, type)
}
