import { type Cluster, ClusterError } from './cluster.ts'

/** A merge may rewrite all segments. */
const mergeMs = 6 * 3600_000
const flushMs = 10 * 60_000
const requestMs = 30_000

/**
 * Removes deleted documents from the disks of the cluster, in these states. `step` advances as far as it can without
 * waiting.
 *
 *   started  Retention leases (`retention_leases`) keep deleted documents for copies that may still need them, even
 *            through a merge. So the purge waits until the leases of all copies have moved past the deletions, which
 *            takes up to half a minute, and until earlier merges have finished. A missing copy delays this for at most
 *            12 hours (`index.soft_deletes.retention_lease.period`), and a copy that is being moved delays it until the
 *            move ends.
 *   merged   Segments with deleted documents have been rewritten without them. The old segments stay on disk while a
 *            searcher or a commit uses them. A refresh and a flush release them. When all copies have the content of
 *            that flush, a second flush releases the previous commit.
 *   done
 */
export class IndexPurge {
  readonly #cluster: Cluster
  readonly #alias: string
  #state: State

  constructor(cluster: Cluster, alias: string) {
    this.#cluster = cluster
    this.#alias = alias
    this.#state = { at: 'new' }
  }

  /** Returns true when no trace is left of documents that were deleted before the first step. */
  async step(): Promise<boolean> {
    if (this.#state.at === 'new') this.#state = await this.#start()
    if (this.#state.at === 'started') this.#state = await this.#merge(this.#state)
    if (this.#state.at === 'merged') this.#state = await this.#release(this.#state)
    return this.#state.at === 'done'
  }

  async #start(): Promise<State> {
    // Merge segments with even one deleted document.
    await this.#call('PUT', '_settings', { body: { 'index.merge.policy.expunge_deletes_allowed': 0 } })
    await this.#writeCommit()
    const newest = new Map<string, number>()
    for (const { shard, newestOperation } of await this.#copies()) {
      newest.set(shard, Math.max(newestOperation, newest.get(shard) ?? -1))
    }
    return { at: 'started', newest }
  }

  async #merge(started: Extract<State, { at: 'started' }>): Promise<State> {
    if (await this.#isRecovering()) return started
    const copies = await this.#copies()
    const isReady = copies.every(
      ({ shard, retained, merges }) =>
        merges === 0 && retained > (started.newest.get(shard) ?? Number.POSITIVE_INFINITY),
    )
    if (!isReady) return started
    const old = (await this.#segments()).filter(({ deleted }) => deleted > 0)
    await this.#onAllCopies('_forcemerge', mergeMs, { only_expunge_deletes: true, flush: true })
    return { at: 'merged', newest: started.newest, copies: namesOf(copies), old: namesOf(old) }
  }

  async #release(merged: Extract<State, { at: 'merged' }>): Promise<State> {
    await this.#writeCommit()
    const remaining = namesOf(await this.#segments())
    const copies = await this.#copies()
    const started: State = { at: 'started', newest: merged.newest }
    // Another merge may still use one of them.
    if ([...merged.old].some((name) => remaining.has(name)))
      return copies.some(({ merges }) => merges > 0) ? merged : started
    // A copy that was added meanwhile may be made of old segments.
    const isNew = ({ name }: Copy) => !merged.copies.has(name)
    if (copies.some(isNew) || (await this.#isRecovering())) return started
    if (copies.some(({ known, committed }) => known < committed)) return merged
    await this.#writeCommit()
    return { at: 'done' }
  }

  async #writeCommit(): Promise<void> {
    await this.#onAllCopies('_refresh', flushMs)
    await this.#onAllCopies('_flush', flushMs, { force: true, wait_if_ongoing: true })
  }

  async #onAllCopies(path: string, timeoutMs: number, query: Record<string, boolean> = {}): Promise<void> {
    const { _shards } = await this.#call<{ _shards: { failed: number } }>('POST', path, { query, timeoutMs })
    if (_shards.failed === 0) return
    throw new ClusterError(`OpenSearch failed at ${path} on ${_shards.failed} shards`, 503, 'failed_shards')
  }

  /**
   * Whether a shard is missing, or a copy is being made or moved. Nothing is known about a missing shard, and a new
   * copy gets the segments that existed when its recovery started.
   */
  async #isRecovering(): Promise<boolean> {
    const { status, initializing_shards, relocating_shards } = await this.#cluster.call<{
      status: string
      initializing_shards: number
      relocating_shards: number
    }>({ method: 'GET', path: `/_cluster/health/${this.#alias}`, idempotent: true, timeoutMs: requestMs })
    return status === 'red' || initializing_shards + relocating_shards > 0
  }

  async #copies(): Promise<readonly Copy[]> {
    const { indices } = await this.#call<ShardStats>('GET', '_stats/merge', { query: { level: 'shards' } })
    return Object.entries(indices).flatMap(([index, { shards }]) =>
      Object.entries(shards).flatMap(([shard, copies]) =>
        copies.map(({ routing, merges, seq_no, retention_leases, commit }) => ({
          name: `${index} ${shard} ${routing.node}`,
          shard: `${index} ${shard}`,
          merges: merges.current,
          newestOperation: seq_no.max_seq_no,
          known: seq_no.global_checkpoint,
          committed: Number(commit.user_data.max_seq_no),
          retained: Math.min(...retention_leases.leases.map((lease) => lease.retaining_seq_no)),
        })),
      ),
    )
  }

  async #segments(): Promise<readonly Segment[]> {
    const { indices } = await this.#call<ShardSegments>('GET', '_segments')
    return Object.entries(indices).flatMap(([index, { shards }]) =>
      Object.entries(shards).flatMap(([shard, copies]) =>
        copies.flatMap(({ routing, segments }) =>
          Object.entries(segments).map(([name, { deleted_docs }]) => ({
            name: `${index} ${shard} ${routing.node} ${name}`,
            deleted: deleted_docs,
          })),
        ),
      ),
    )
  }

  #call<Answer>(
    method: 'GET' | 'POST' | 'PUT',
    path: string,
    more: { query?: Record<string, boolean | string>; body?: object; timeoutMs?: number } = {},
  ): Promise<Answer> {
    return this.#cluster.call({
      method,
      path: `/${this.#alias}/${path}`,
      idempotent: true,
      timeoutMs: requestMs,
      ...more,
    })
  }
}

type State =
  | { readonly at: 'new' | 'done' }
  /** `newest` is the sequence number of each shard's last operation at the start. */
  | { readonly at: 'started'; readonly newest: ReadonlyMap<string, number> }
  | {
      readonly at: 'merged'
      readonly newest: ReadonlyMap<string, number>
      readonly copies: ReadonlySet<string>
      readonly old: ReadonlySet<string>
    }

/** A copy of a shard on a node. Operations have sequence numbers, from 0. */
interface Copy {
  readonly name: string
  readonly shard: string
  /** Merges in progress. */
  readonly merges: number
  readonly newestOperation: number
  /** The last operation that the copy knows to be on all copies. */
  readonly known: number
  /** The last operation in the copy's last commit. */
  readonly committed: number
  /** The first operation whose deleted documents are kept. */
  readonly retained: number
}

interface Segment {
  readonly name: string
  readonly deleted: number
}

const namesOf = (named: readonly { readonly name: string }[]): ReadonlySet<string> =>
  new Set(named.map(({ name }) => name))

interface OfShards<One> {
  readonly indices: Readonly<
    Record<
      string,
      { readonly shards: Readonly<Record<string, readonly ({ readonly routing: { readonly node: string } } & One)[]>> }
    >
  >
}

type ShardStats = OfShards<{
  readonly merges: { readonly current: number }
  readonly seq_no: { readonly max_seq_no: number; readonly global_checkpoint: number }
  readonly retention_leases: { readonly leases: readonly { readonly retaining_seq_no: number }[] }
  readonly commit: { readonly user_data: { readonly max_seq_no: string } }
}>

type ShardSegments = OfShards<{
  readonly segments: Readonly<Record<string, { readonly deleted_docs: number }>>
}>
