import { type Cluster, type ClusterCall, isTransient } from './cluster.ts'
import { chunksPath, vectorField, vectorMapping } from './mapping.ts'
import type { Dimensions } from './stored-document.ts'

/** The metadata in the mapping of an index. */
export interface IndexMeta {
  readonly format: number
  /** The rules of text analysis and columns by which the index was built. */
  readonly rules: string
  /** The instance whose store the index belongs to. */
  readonly instance: string | null
  readonly shards: number
  /** The dimensions of every profile that has ever had a vector in it. */
  readonly profiles: Readonly<Record<string, number>>
}

interface Mappings {
  readonly [index: string]: { readonly mappings: { readonly _meta: IndexMeta } }
}

/** The mapping is cached for this time. Then it is read again, because another process may have changed it. */
const cachedMs = 1000
const callMs = 10_000
const fromManager = { timeoutMs: callMs, query: {} }
/**
 * A busy node, or one without a cluster manager, only answers after this timeout. A search that has a cached answer
 * waits only a moment.
 */
const recheck = { local: true, cluster_manager_timeout: '100ms' }
const readFirst = { local: true, cluster_manager_timeout: '3s' }

/** The dimensions of each profile's vectors. They are stored in the mapping, which all processes share. */
export class Profiles {
  readonly #cluster: Cluster
  readonly #alias: string
  #known: { readonly dimensions: ReadonlyMap<string, number>; readonly readAt: number } | null = null

  constructor(cluster: Cluster, alias: string) {
    this.#cluster = cluster
    this.#alias = alias
  }

  /**
   * The dimensions for searches, from a cache that is checked every second. Nodes answer from their local state, so
   * that a search does not wait for a cluster manager. If no node answers, the cached state is used, because the
   * dimensions of a profile do not change.
   */
  async known(profileId: string, timeoutMs: number): Promise<Pick<Dimensions, 'of'>> {
    const last = this.#known?.dimensions.has(profileId) ? this.#known : null
    if (last !== null && performance.now() - last.readAt < cachedMs) return dimensionsOf(last)
    try {
      return dimensionsOf(await this.#read({ timeoutMs, query: last === null ? readFirst : recheck }))
    } catch (error) {
      if (last === null || !isTransient(error)) throw error
      return dimensionsOf(last)
    }
  }

  /** The dimensions for writes. `add` must store `changed` in the mapping before any of these vectors is written. */
  async writable(): Promise<Dimensions & { readonly changed: ReadonlyMap<string, number> }> {
    const { dimensions } = await this.#read(fromManager)
    const changed = new Map<string, number>()
    return {
      changed,
      of: (profile) => dimensions.get(profile) ?? changed.get(profile),
      fix: (profile, size) => {
        if (!dimensions.has(profile)) changed.set(profile, size)
      },
    }
  }

  async add(changed: ReadonlyMap<string, number>): Promise<void> {
    if (changed.size === 0) return
    const { meta } = await this.#read(fromManager)
    const properties = Array.from(changed, ([profileId, size]) => [vectorField(profileId, size), vectorMapping(size)])
    const body = {
      _meta: { ...meta, profiles: { ...meta.profiles, ...Object.fromEntries(changed) } },
      properties: { [chunksPath]: { type: 'nested', properties: Object.fromEntries(properties) } },
    }
    await this.#cluster.call({
      method: 'PUT',
      path: `/${this.#alias}/_mapping`,
      body,
      idempotent: true,
      timeoutMs: callMs,
    })
    this.forget()
  }

  forget(): void {
    this.#known = null
  }

  async #read({ timeoutMs, query }: Pick<ClusterCall, 'timeoutMs' | 'query'>): Promise<{
    readonly meta: IndexMeta
    readonly dimensions: ReadonlyMap<string, number>
  }> {
    const found = await this.#cluster.call<Mappings>({
      method: 'GET',
      path: `/${this.#alias}/_mapping`,
      query: { filter_path: '*.mappings._meta', ...query },
      idempotent: true,
      timeoutMs,
    })
    const meta = Object.values(found)[0]!.mappings._meta
    const dimensions = new Map(Object.entries(meta.profiles))
    this.#known = { dimensions, readAt: performance.now() }
    return { meta, dimensions }
  }
}

const dimensionsOf = ({
  dimensions,
}: {
  readonly dimensions: ReadonlyMap<string, number>
}): Pick<Dimensions, 'of'> => ({
  of: (profile) => dimensions.get(profile),
})
