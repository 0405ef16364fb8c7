import type { SearchIndex } from '../../indexing/fed-index.ts'
import type { IndexHome, IndexOfOtherVersion, InspectedIndex, NextIndex } from '../../indexing/index-home.ts'
import type { Finding } from '../../operator/examine.ts'
import type { Measures } from '../../platform/measures.ts'
import { Cluster, ClusterError, type ClusterOptions, ClusterTimeout, isTransient } from './cluster.ts'
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
import { UnreachableIndex } from './unreachable-index.ts'

export interface OpenSearchHomeOptions extends ClusterOptions {
  /** The prefix of index names: every instance in a cluster needs its own. */
  readonly prefix: string
  readonly origin: IndexOrigin
  /** The number of primary shards of a new index; an existing one keeps its number. Default: 1. */
  readonly shards?: number
  /** How long a replaced index is kept for processes that still use it. */
  readonly graceMs?: number
  /** The time limit for listing indexes. It delays the start if the cluster does not answer. */
  readonly listMs?: number
  readonly comparedMax?: number
  /** The registry for metrics of the cluster's health. */
  readonly measures?: Measures
}

/**
 * The indexes in an OpenSearch cluster, which all processes of a version share. They have numbered generations, and
 * aliases point to them.
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
  /** The last attempt to open the index failed because the cluster was unreachable. */
  #isUnreachable = false

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

  /**
   * If the cluster is unreachable, the process starts without it. If the cluster refuses the login, the start fails.
   */
  async open(): Promise<SearchIndex> {
    try {
      return await this.#openServed()
    } catch (error) {
      if (!isTransient(error)) throw error
      this.#isUnreachable = true
      return new UnreachableIndex(error.message)
    }
  }

  async openNewer(): Promise<SearchIndex | null> {
    if (this.#isUnreachable) return this.#openServed()
    const served = currentOf(await this.#list())
    // An index that somebody removed is created again. All its data is in the store.
    if (served === null) return this.#openServed()
    if (served.generation <= this.#generation || !this.#isOurs(served)) return null
    this.#generation = served.generation
    return this.#index(served.generation)
  }

  /** Waits before it removes older indexes, because other processes notice a newly served index within a second. */
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
    const unfinished = (await this.#list()).filter(({ isNext }) => isNext)
    await deleteIndexes(
      this.#cluster,
      unfinished.map(({ name }) => name),
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
    const unreadable = { position: 0, chunks: 0, bytes: 0 }
    try {
      const alias = generationAlias(this.#family, served.generation)
      const counts = new IndexCounts(this.#cluster, alias)
      const { position, chunks, diskBytes } = await reportHealth(this.#cluster, alias, counts)
      return { ...unreadable, position, chunks, bytes: diskBytes, findings }
    } catch (error) {
      if (!(error instanceof ClusterError || error instanceof ClusterTimeout)) throw error
      const about = `the search index ${served.name} cannot be read: ${error.message}`
      const advice =
        'check that all nodes of the cluster are running; if the data of the index is lost, run tidemark reindex'
      return { ...unreadable, findings: [...findings, { state: 'failure', about, advice }] }
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
    this.#isUnreachable = false
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

  /**
   * Excludes indexes of another instance with the same prefix: that is a misconfiguration, but they must not be
   * removed.
   */
  #isOtherVersion({ version, meta }: NamedIndex): boolean {
    return version !== this.version && meta?.instance === this.#origin.instance
  }

  #isOurs({ meta }: NamedIndex): boolean {
    const { rules, instance } = this.#origin
    return meta !== null && meta.format === mappingFormat && meta.rules === rules && meta.instance === instance
  }

  /** Creates an empty index if there is none yet, or if the served one has another origin. */
  #servedGeneration(): Promise<number> {
    return this.#retryOnConflict(async () => {
      const indexes = await this.#list()
      const served = currentOf(indexes)
      if (served !== null && this.#isOurs(served)) return served.generation
      const generation = newGeneration(indexes)
      const name = firstIndex(this.#family, generation)
      const [current, next] = [pointerAlias(this.#family, 'current'), pointerAlias(this.#family, 'next')]
      // If another process creates one at the same time, the next attempt uses that one.
      const alias = generationAlias(this.#family, generation)
      if (!(await this.#make(name, alias, served === null ? current : null))) return null
      const unfinished = indexes.filter(({ isNext }) => isNext)
      const actions = [
        ...(served === null
          ? []
          : movePointer(
              current,
              indexes.filter(({ isCurrent }) => isCurrent),
              name,
            )),
        ...unfinished.map((one) => ({ remove: { index: one.name, alias: next } })),
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

  /** Repeats the attempt while other processes make conflicting changes. */
  async #retryOnConflict<T>(attempt: () => Promise<T | null>): Promise<T> {
    for (let attempts = 0; attempts < 10; attempts++) {
      try {
        const done = await attempt()
        if (done !== null) return done
      } catch (error) {
        if (!isOvertaken(error)) throw error
      }
    }
    throw new ClusterError('other processes keep changing which search index is served: try again', 503, 'no_index')
  }

  /** Continues the unfinished index if it has this origin, or creates an empty one. */
  async #nextGeneration(): Promise<number> {
    const indexes = await this.#list()
    const unfinished = indexes.filter(({ isNext }) => isNext)
    const served = currentOf(indexes)?.generation ?? 0
    const resumable = unfinished.find((one) => one.generation > served && this.#isOurs(one))
    if (resumable !== undefined) return resumable.generation
    const generation = newGeneration(indexes)
    const name = firstIndex(this.#family, generation)
    const alias = generationAlias(this.#family, generation)
    const next = pointerAlias(this.#family, 'next')
    // If several processes start one at the same time, the cluster gives the pointer to one of them.
    if (!(await this.#make(name, alias, unfinished.length === 0 ? next : null))) throw new Error(startedByAnother)
    if (unfinished.length === 0) return generation
    try {
      await changeAliases(this.#cluster, movePointer(next, unfinished, name))
      return generation
    } catch (error) {
      if (!isOvertaken(error)) throw error
      await deleteIndexes(this.#cluster, [name])
      throw new Error(startedByAnother)
    }
  }

  #serveNext(generation: number): Promise<number> {
    return this.#retryOnConflict(async () => {
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

const startedByAnother = 'another process started to build a search index at the same time: run tidemark reindex again'

const currentOf = (indexes: readonly NamedIndex[]): NamedIndex | null =>
  indexes.filter(({ isCurrent }) => isCurrent).sort((a, b) => b.generation - a.generation)[0] ?? null

/** Higher than any earlier generation, even of removed indexes, because a process may still have one of them open. */
const newGeneration = (indexes: readonly NamedIndex[]): number =>
  Math.max(Math.floor(Date.now() / 1000), ...indexes.map(({ generation }) => generation + 1))
