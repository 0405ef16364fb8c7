import { type Cluster, ClusterTrouble } from './cluster.ts'

/** All segments may have to be rewritten. */
const mergeMs = 6 * 3600_000
const flushMs = 10 * 60_000
const lookMs = 30_000

/**
 * Removes deleted documents from the disks of the cluster, in these states; `step` goes as far as it can without
 * waiting:
 *
 *   begun    Retention leases keep deleted documents for copies that may still need them (`retention_leases`), also
 *            through a merge. So the leases of all copies must have moved past the deletions, which takes up to half a
 *            minute, and merges that began before must be over. A missing copy delays this for 12 hours at most
 *            (`index.soft_deletes.retention_lease.period`); a copy that is being moved, until it has arrived.
 *   merged   Segments with deleted documents were rewritten without them, and no others. The old ones stay on disk as
 *            long as a searcher or a commit uses them: a refresh and a flush release them, and a second flush releases
 *            the commit before, once all copies have the content of the first.
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

  /** Returns whether no trace is left of documents that were deleted before the first step. */
  async step(): Promise<boolean> {
    if (this.#state.at === 'new') this.#state = await this.#begin()
    if (this.#state.at === 'begun') this.#state = await this.#merge(this.#state)
    if (this.#state.at === 'merged') this.#state = await this.#letGo(this.#state)
    return this.#state.at === 'done'
  }

  async #begin(): Promise<State> {
    // Merge segments with even one deleted document.
    await this.#call('PUT', '_settings', { body: { 'index.merge.policy.expunge_deletes_allowed': 0 } })
    await this.#writeCommit()
    const newest = new Map<string, number>()
    for (const { shard, newestOperation } of await this.#copies()) {
      newest.set(shard, Math.max(newestOperation, newest.get(shard) ?? -1))
    }
    return { at: 'begun', newest }
  }

  async #merge(begun: Extract<State, { at: 'begun' }>): Promise<State> {
    if (await this.#isUnsettled()) return begun
    const copies = await this.#copies()
    const isReady = copies.every(
      ({ shard, retained, merges }) => merges === 0 && retained > (begun.newest.get(shard) ?? Number.POSITIVE_INFINITY),
    )
    if (!isReady) return begun
    const old = (await this.#segments()).filter(({ deleted }) => deleted > 0)
    await this.#onAllCopies('_forcemerge', mergeMs, { only_expunge_deletes: true, flush: true })
    return { at: 'merged', newest: begun.newest, copies: namesOf(copies), old: namesOf(old) }
  }

  async #letGo(merged: Extract<State, { at: 'merged' }>): Promise<State> {
    await this.#writeCommit()
    const left = namesOf(await this.#segments())
    const copies = await this.#copies()
    const begun: State = { at: 'begun', newest: merged.newest }
    // Another merge may still use one of them.
    if ([...merged.old].some((name) => left.has(name))) return copies.some(({ merges }) => merges > 0) ? merged : begun
    // A copy that was added meanwhile may be made of old segments.
    const isNew = ({ name }: Copy) => !merged.copies.has(name)
    if (copies.some(isNew) || (await this.#isUnsettled())) return begun
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
    throw new ClusterTrouble(`OpenSearch failed at ${path} on ${_shards.failed} shards`, 503, 'failed_shards')
  }

  /**
   * Nothing is known about a missing shard. A copy that is being made gets the segments that existed when that began.
   */
  async #isUnsettled(): Promise<boolean> {
    const { status, initializing_shards, relocating_shards } = await this.#cluster.call<{
      status: string
      initializing_shards: number
      relocating_shards: number
    }>({ method: 'GET', path: `/_cluster/health/${this.#alias}`, harmless: true, timeoutMs: lookMs })
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
    return this.#cluster.call({ method, path: `/${this.#alias}/${path}`, harmless: true, timeoutMs: lookMs, ...more })
  }
}

type State =
  | { readonly at: 'new' | 'done' }
  /** `newest` is the number of the last operation of each shard when this state began. */
  | { readonly at: 'begun'; readonly newest: ReadonlyMap<string, number> }
  | {
      readonly at: 'merged'
      readonly newest: ReadonlyMap<string, number>
      readonly copies: ReadonlySet<string>
      readonly old: ReadonlySet<string>
    }

/** A shard on a node. Operations are numbered from 0. */
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
