import { type Cluster, type ClusterCall, isAway } from './cluster.ts'
import { chunksPath, vectorField, vectorMapping } from './mapping.ts'
import type { Dimensions } from './stored-document.ts'

/** The metadata in the mapping of an index. */
export interface IndexMeta {
  readonly format: number
  /** The rules of text analysis that made the terms. */
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

/** Another process may have added a profile, or emptied the index. */
const keptMs = 1000
const callMs = 10_000
const ofManager = { timeoutMs: callMs, query: {} }
/**
 * A node without a manager, or a busy one, does not answer before this timeout: a search that can do without the answer
 * waits only a moment.
 */
const checkAgain = { local: true, cluster_manager_timeout: '100ms' }
const readFirst = { local: true, cluster_manager_timeout: '3s' }

/** The dimensions of each profile's vectors. They are stored in the mapping, for all processes. */
export class Profiles {
  readonly #cluster: Cluster
  readonly #alias: string
  #known: { readonly dimensions: ReadonlyMap<string, number>; readonly readAt: number } | null = null

  constructor(cluster: Cluster, alias: string) {
    this.#cluster = cluster
    this.#alias = alias
  }

  /**
   * The dimensions for searches, as this process last read them; it checks them every second. Any node returns its
   * local state, so a search does not wait for a cluster manager. If no node answers, the last state still holds,
   * because dimensions of a profile do not change.
   */
  async known(profileId: string, timeoutMs: number): Promise<Pick<Dimensions, 'of'>> {
    const last = this.#known?.dimensions.has(profileId) ? this.#known : null
    if (last !== null && performance.now() - last.readAt < keptMs) return dimensionsOf(last)
    try {
      return dimensionsOf(await this.#read({ timeoutMs, query: last === null ? readFirst : checkAgain }))
    } catch (error) {
      if (last === null || !isAway(error)) throw error
      return dimensionsOf(last)
    }
  }

  /** The dimensions for writes: `add` stores `changed` in the mapping before any such vector is written. */
  async writable(): Promise<Dimensions & { readonly changed: ReadonlyMap<string, number> }> {
    const { dimensions } = await this.#read(ofManager)
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
    const { meta } = await this.#read(ofManager)
    const properties = Array.from(changed, ([profileId, size]) => [vectorField(profileId, size), vectorMapping(size)])
    const body = {
      _meta: { ...meta, profiles: { ...meta.profiles, ...Object.fromEntries(changed) } },
      properties: { [chunksPath]: { type: 'nested', properties: Object.fromEntries(properties) } },
    }
    await this.#cluster.call({
      method: 'PUT',
      path: `/${this.#alias}/_mapping`,
      body,
      harmless: true,
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
      harmless: true,
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
