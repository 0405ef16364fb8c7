import type { SearchIndex } from '../../indexing/fed-index.ts'
import type { IndexHome, IndexOfOtherVersion, InspectedIndex, NextIndex } from '../../indexing/index-home.ts'
import type { Finding } from '../../operator/examine.ts'
import type { Measures } from '../../platform/measures.ts'
import { AbsentIndex } from './absent-index.ts'
import { Cluster, type ClusterOptions, ClusterTimeout, ClusterTrouble, isAway } from './cluster.ts'
import { examineCluster, examineServed } from './examine-cluster.ts'
import { IndexCounts } from './index-counts.ts'
import {
  changeAliases,
  deleteIndexes,
  diskBytes,
  familyOf,
  firstIndex,
  generationAlias,
  type IndexOrigin,
  isOvertaken,
  listIndexes,
  makeIndex,
  movePointer,
  type NamedIndex,
  pointerAlias,
  versionOf,
} from './index-names.ts'
import { mappingFormat } from './mapping.ts'
import { measureCluster } from './measure-cluster.ts'
import { OpenSearchIndex } from './opensearch-index.ts'
import { reportHealth } from './report-health.ts'

export interface OpenSearchHomeOptions extends ClusterOptions {
  /** The prefix of index names: every instance in a cluster needs its own. */
  readonly prefix: string
  readonly origin: IndexOrigin
  /** The number of primary shards of a new index; an existing one keeps its number. Default: 1. */
  readonly shards?: number
  /** How long a replaced index stays for processes that still use it. */
  readonly graceMs?: number
  /** The time limit for listing indexes, at the start and elsewhere, if the cluster does not answer. */
  readonly listMs?: number
  readonly comparedMax?: number
  /** The registry for measurements of the cluster's health. */
  readonly measures?: Measures
}

/**
 * Indexes in an OpenSearch cluster, which all processes of a version share: numbered generations, and aliases that
 * point at them. Indexes of other versions stay until an operator removes them.
 */
export class OpenSearchHome implements IndexHome {
  readonly fedBy = 'one'
  readonly version: string
  readonly chunksComfortable = Number.POSITIVE_INFINITY
  readonly #cluster: Cluster
  readonly #prefix: string
  readonly #family: string
  readonly #origin: IndexOrigin
  readonly #shards: number
  readonly #graceMs: number
  readonly #listMs: number
  readonly #comparedMax: number | undefined
  /** The generation of the index that was last opened to be served. */
  #generation = 0
  /** An open failed because the cluster was away. */
  #isAwaited = false

  constructor(options: OpenSearchHomeOptions) {
    const { prefix, origin, shards = 1, graceMs = 10_000, listMs = 5000, comparedMax, measures, ...cluster } = options
    this.#cluster = new Cluster(cluster)
    this.#prefix = prefix
    this.version = versionOf(origin.rules)
    this.#family = familyOf(prefix, this.version)
    this.#origin = origin
    this.#shards = shards
    this.#graceMs = graceMs
    this.#listMs = listMs
    this.#comparedMax = comparedMax
    if (measures !== undefined) measureCluster(this.#cluster, prefix, measures)
  }

  /** The process starts without a cluster that is away, but not with one that refuses us. */
  async open(): Promise<SearchIndex> {
    try {
      return await this.#openServed()
    } catch (error) {
      if (!isAway(error)) throw error
      this.#isAwaited = true
      return new AbsentIndex(error.message)
    }
  }

  async openNewer(): Promise<SearchIndex | null> {
    if (this.#isAwaited) return this.#openServed()
    const served = currentOf(await this.#list())
    // The index can be derived again: if it was removed, it is created anew.
    if (served === null) return this.#openServed()
    if (served.generation <= this.#generation || !this.#isOurs(served)) return null
    this.#generation = served.generation
    return this.#index(served.generation)
  }

  /** Other processes notice a newly served index within a second. */
  async removeOlder(): Promise<void> {
    const before = this.#generation
    const isOlder = ({ generation, isNext }: NamedIndex) => generation < before && !isNext
    if (!(await this.#list()).some(isOlder)) return
    await new Promise((resolve) => setTimeout(resolve, this.#graceMs))
    const names = (await this.#list()).filter(isOlder).map(({ name }) => name)
    await deleteIndexes(this.#cluster, names)
  }

  async openNext(): Promise<NextIndex> {
    const generation = await this.#nextGeneration()
    return { index: this.#index(generation), handOver: async () => void (await this.#serveNext(generation)) }
  }

  async removeNext(): Promise<boolean> {
    const begun = (await this.#list()).filter(({ isNext }) => isNext)
    await deleteIndexes(
      this.#cluster,
      begun.map(({ name }) => name),
    )
    return true
  }

  async position(): Promise<number | null> {
    const served = currentOf(await this.#list())
    return served === null || !this.#isOurs(served) ? null : await this.#index(served.generation).position()
  }

  async inspect(): Promise<InspectedIndex | null> {
    const served = currentOf(await this.#list())
    if (served === null || !this.#isOurs(served)) return null
    const findings = await examineServed(this.#cluster, served.name)
    const unread = { position: 0, chunks: 0, bytes: 0 }
    try {
      const alias = generationAlias(this.#family, served.generation)
      const counts = new IndexCounts(this.#cluster, alias)
      const { position, chunks, diskBytes } = await reportHealth(this.#cluster, alias, counts)
      return { ...unread, position, chunks, bytes: diskBytes, findings }
    } catch (error) {
      if (!(error instanceof ClusterTrouble || error instanceof ClusterTimeout)) throw error
      const about = `the search index ${served.name} cannot be read: ${error.message}`
      const advice = 'see that all nodes of the cluster run; if its data is lost, run tidemark reindex'
      return { ...unread, findings: [...findings, { state: 'failure', about, advice }] }
    }
  }

  examine(): Promise<readonly Finding[]> {
    return examineCluster(this.#cluster)
  }

  async otherVersions(): Promise<readonly IndexOfOtherVersion[]> {
    const others = (await this.#listAll()).filter((one) => this.#isOtherVersion(one))
    if (others.length === 0) return []
    const byVersion = [...Map.groupBy(others, ({ version }) => version)]
    return Promise.all(
      byVersion.map(async ([version, indexes]) => ({
        version,
        bytes: await diskBytes(this.#cluster, indexes, this.#listMs),
      })),
    )
  }

  async removeVersion(version: string | null): Promise<void> {
    const others = (await this.#listAll()).filter((one) => this.#isOtherVersion(one) && one.version === version)
    await deleteIndexes(
      this.#cluster,
      others.map(({ name }) => name),
    )
  }

  async remove(): Promise<void> {
    const names = (await this.#listAll()).map(({ name }) => name)
    await deleteIndexes(this.#cluster, names)
  }

  async #openServed(): Promise<SearchIndex> {
    this.#generation = await this.#servedGeneration()
    this.#isAwaited = false
    return this.#index(this.#generation)
  }

  #index(generation: number): SearchIndex {
    return new OpenSearchIndex({
      cluster: this.#cluster,
      alias: generationAlias(this.#family, generation),
      ...(this.#comparedMax === undefined ? {} : { comparedMax: this.#comparedMax }),
    })
  }

  #make(name: string, alias: string, pointer: string | null): Promise<boolean> {
    return makeIndex(this.#cluster, name, { ...this.#origin, shards: this.#shards }, [alias], pointer)
  }

  #listAll(): Promise<NamedIndex[]> {
    return listIndexes(this.#cluster, this.#prefix, this.#listMs)
  }

  async #list(): Promise<NamedIndex[]> {
    return (await this.#listAll()).filter(({ version }) => version === this.version)
  }

  /** Indexes of another instance with the same prefix are a configuration mistake, but not ours to remove. */
  #isOtherVersion({ version, meta }: NamedIndex): boolean {
    return version !== this.version && meta?.instance === this.#origin.instance
  }

  #isOurs({ meta }: NamedIndex): boolean {
    const { rules, instance } = this.#origin
    return meta !== null && meta.format === mappingFormat && meta.rules === rules && meta.instance === instance
  }

  /** Creates an empty index if there is none yet, or it has another origin. */
  #servedGeneration(): Promise<number> {
    return this.#untilFirst(async () => {
      const indexes = await this.#list()
      const served = currentOf(indexes)
      if (served !== null && this.#isOurs(served)) return served.generation
      const generation = newGeneration(indexes)
      const name = firstIndex(this.#family, generation)
      const [current, next] = [pointerAlias(this.#family, 'current'), pointerAlias(this.#family, 'next')]
      // If another process creates one at the same time, that one is used.
      const alias = generationAlias(this.#family, generation)
      if (!(await this.#make(name, alias, served === null ? current : null))) return null
      const begun = indexes.filter(({ isNext }) => isNext)
      const actions = [
        ...(served === null
          ? []
          : movePointer(
              current,
              indexes.filter(({ isCurrent }) => isCurrent),
              name,
            )),
        ...begun.map((one) => ({ remove: { index: one.name, alias: next } })),
      ]
      try {
        if (actions.length > 0) await changeAliases(this.#cluster, actions)
        return generation
      } catch (error) {
        if (served !== null && isOvertaken(error)) await deleteIndexes(this.#cluster, [name])
        throw error
      }
    })
  }

  /** Lists the indexes and tries again if another process was faster. */
  async #untilFirst<T>(attempt: () => Promise<T | null>): Promise<T> {
    for (let attempts = 0; attempts < 10; attempts++) {
      try {
        const done = await attempt()
        if (done !== null) return done
      } catch (error) {
        if (!isOvertaken(error)) throw error
      }
    }
    throw new ClusterTrouble('the search index to be served is changed by others again and again', 503, 'no_index')
  }

  /** Continues the index that was begun with this origin, or creates an empty one. */
  async #nextGeneration(): Promise<number> {
    const indexes = await this.#list()
    const begun = indexes.filter(({ isNext }) => isNext)
    const served = currentOf(indexes)?.generation ?? 0
    const going = begun.find((one) => one.generation > served && this.#isOurs(one))
    if (going !== undefined) return going.generation
    const generation = newGeneration(indexes)
    const name = firstIndex(this.#family, generation)
    const alias = generationAlias(this.#family, generation)
    const next = pointerAlias(this.#family, 'next')
    // If several processes begin one at the same time, the cluster gives the pointer to one of them.
    if (!(await this.#make(name, alias, begun.length === 0 ? next : null))) throw new Error(startedByAnother)
    if (begun.length === 0) return generation
    try {
      await changeAliases(this.#cluster, movePointer(next, begun, name))
      return generation
    } catch (error) {
      if (!isOvertaken(error)) throw error
      await deleteIndexes(this.#cluster, [name])
      throw new Error(startedByAnother)
    }
  }

  #serveNext(generation: number): Promise<number> {
    return this.#untilFirst(async () => {
      const indexes = await this.#list()
      const built = indexes.find((one) => one.generation === generation && one.isNext)
      if (built === undefined) {
        throw new Error(
          'another rebuild was started during this one, so this one is not used; run tidemark reindex again',
        )
      }
      const served = indexes.filter(({ isCurrent }) => isCurrent)
      await changeAliases(this.#cluster, [
        { remove: { index: built.name, alias: pointerAlias(this.#family, 'next'), must_exist: true } },
        ...movePointer(pointerAlias(this.#family, 'current'), served, built.name),
      ])
      return generation
    })
  }
}

const startedByAnother = 'another process began to build a search index at the same moment: run tidemark reindex again'

const currentOf = (indexes: readonly NamedIndex[]): NamedIndex | null =>
  indexes.filter(({ isCurrent }) => isCurrent).sort((a, b) => b.generation - a.generation)[0] ?? null

/** Higher than any earlier generation: a removed index may still be open in a process. */
const newGeneration = (indexes: readonly NamedIndex[]): number =>
  Math.max(Math.floor(Date.now() / 1000), ...indexes.map(({ generation }) => generation + 1))
