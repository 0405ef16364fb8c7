import type { Cluster } from './cluster.ts'
import { chunksPath, vectorField, vectorMapping } from './mapping.ts'
import type { Dimensions } from './stored-document.ts'

/** What an index says of itself, in its mapping. */
export interface IndexMeta {
  readonly format: number
  /** By which rules texts became terms. */
  readonly rules: string
  /** Of which instance's store it is. */
  readonly instance: string | null
  readonly shards: number
  /** The dimensions of every profile that it has had a vector of. */
  readonly profiles: Readonly<Record<string, number>>
}

interface Mappings {
  readonly [index: string]: { readonly mappings: { readonly _meta: IndexMeta } }
}

/** Another process may have added a profile, or emptied the index. */
const keptMs = 1000
const callMs = 10_000

/** How many dimensions the vectors of a profile have. The mapping says it, for all processes. */
export class Profiles {
  readonly #cluster: Cluster
  readonly #alias: string
  #known: { readonly dimensions: ReadonlyMap<string, number>; readonly readAt: number } | null = null

  constructor(cluster: Cluster, alias: string) {
    this.#cluster = cluster
    this.#alias = alias
  }

  /** To search by: what this process knows, or the cluster where it does not know the profile, or has not asked for long. */
  async known(profileId: string): Promise<Pick<Dimensions, 'of'>> {
    const isKnown = this.#known?.dimensions.has(profileId) && performance.now() - this.#known.readAt < keptMs
    const dimensions = isKnown ? this.#known!.dimensions : (await this.#read()).dimensions
    return { of: (profile) => dimensions.get(profile) }
  }

  /** To write by: `changed` are told to the cluster by `add` before any vector of them. */
  async writable(): Promise<Dimensions & { readonly changed: ReadonlyMap<string, number> }> {
    const { dimensions } = await this.#read()
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
    const { meta } = await this.#read()
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

  async #read(): Promise<{ readonly meta: IndexMeta; readonly dimensions: ReadonlyMap<string, number> }> {
    const found = await this.#cluster.call<Mappings>({
      method: 'GET',
      path: `/${this.#alias}/_mapping`,
      query: { filter_path: '*.mappings._meta' },
      harmless: true,
      timeoutMs: callMs,
    })
    const meta = Object.values(found)[0]!.mappings._meta
    const dimensions = new Map(Object.entries(meta.profiles))
    this.#known = { dimensions, readAt: performance.now() }
    return { meta, dimensions }
  }
}
