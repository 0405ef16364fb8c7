import type { IndexHome, InspectedIndex, NextIndex } from '../../search/index-home.ts'
import type { SearchIndex } from '../../search/search-index.ts'
import { AbsentIndex } from './absent-index.ts'
import { Cluster, type ClusterOptions, ClusterTimeout, ClusterTrouble, isAway } from './cluster.ts'
import { examineCluster } from './examine-cluster.ts'
import { IndexCounts } from './index-counts.ts'
import {
  changeAliases,
  deleteIndexes,
  firstIndex,
  generationAlias,
  type IndexOrigin,
  isOvertaken,
  listIndexes,
  makeIndex,
  movePointer,
  type NamedIndex,
  pointerAlias,
} from './index-names.ts'
import { mappingFormat } from './mapping.ts'
import { OpenSearchIndex } from './opensearch-index.ts'
import { reportHealth } from './report-health.ts'

export interface OpenSearchHomeOptions extends ClusterOptions {
  /** What the names of its indexes begin with: another instance in the same cluster has another. */
  readonly prefix: string
  readonly origin: IndexOrigin
  /** Parts that an index is made of, on as many nodes as there are: those it is made with it keeps. One when left out. */
  readonly shards?: number
  /** How long the index before the served one stays, for processes that have not heard of it yet. */
  readonly graceMs?: number
  /** A start, and everything else that looks which indexes there are, does not wait longer for a cluster that says nothing. */
  readonly listMs?: number
  readonly comparedMax?: number
}

/** Indexes of an OpenSearch cluster, which all processes search: generations, by number, and aliases that point at them. */
export class OpenSearchHome implements IndexHome {
  readonly fedBy = 'one'
  readonly chunksComfortable = Number.POSITIVE_INFINITY
  readonly #cluster: Cluster
  readonly #prefix: string
  readonly #origin: IndexOrigin
  readonly #shards: number
  readonly #graceMs: number
  readonly #listMs: number
  readonly #comparedMax: number | undefined
  /** The one that was opened last to be served. */
  #generation = 0
  /** It was to be opened, and the cluster was away. */
  #isAwaited = false

  constructor(options: OpenSearchHomeOptions) {
    const { prefix, origin, shards = 1, graceMs = 10_000, listMs = 5000, comparedMax, ...cluster } = options
    this.#cluster = new Cluster(cluster)
    this.#prefix = prefix
    this.#origin = origin
    this.#shards = shards
    this.#graceMs = graceMs
    this.#listMs = listMs
    this.#comparedMax = comparedMax
  }

  /** A cluster that is away keeps nobody from starting; one that refuses us does. */
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
    // All can be derived again: where somebody removed it, it is made anew.
    if (served === null) return this.#openServed()
    if (served.generation <= this.#generation || !this.#isOurs(served)) return null
    this.#generation = served.generation
    return this.#index(served.generation)
  }

  /** Other processes hear within a second that another index is served. */
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

  async position(): Promise<number | null> {
    const served = currentOf(await this.#list())
    return served === null || !this.#isOurs(served) ? null : await this.#index(served.generation).position()
  }

  async inspect(): Promise<InspectedIndex | null> {
    const served = currentOf(await this.#list())
    if (served === null || !this.#isOurs(served)) return null
    const findings = await examineCluster(this.#cluster, served.name)
    const unread = { position: 0, chunks: 0, bytes: 0 }
    try {
      const alias = generationAlias(this.#prefix, served.generation)
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

  async remove(): Promise<void> {
    const names = (await this.#list()).map(({ name }) => name)
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
      alias: generationAlias(this.#prefix, generation),
      ...(this.#comparedMax === undefined ? {} : { comparedMax: this.#comparedMax }),
    })
  }

  #make(name: string, alias: string, pointer: string | null): Promise<boolean> {
    return makeIndex(this.#cluster, name, { ...this.#origin, shards: this.#shards }, [alias], pointer)
  }

  #list(): Promise<NamedIndex[]> {
    return listIndexes(this.#cluster, this.#prefix, this.#listMs)
  }

  #isOurs({ meta }: NamedIndex): boolean {
    const { rules, instance } = this.#origin
    return meta !== null && meta.format === mappingFormat && meta.rules === rules && meta.instance === instance
  }

  /** A new, empty one where there is none yet or it is of another origin. */
  #servedGeneration(): Promise<number> {
    return this.#untilFirst(async () => {
      const indexes = await this.#list()
      const served = currentOf(indexes)
      if (served !== null && this.#isOurs(served)) return served.generation
      const generation = newGeneration(indexes)
      const name = firstIndex(this.#prefix, generation)
      const [current, next] = [pointerAlias(this.#prefix, 'current'), pointerAlias(this.#prefix, 'next')]
      // Another process may make one at the same time: then that one is the one.
      const alias = generationAlias(this.#prefix, generation)
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

  /** Looks and acts again where another process was quicker. */
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

  /** The one that was begun and is of this origin, or else a new, empty one. */
  async #nextGeneration(): Promise<number> {
    const indexes = await this.#list()
    const begun = indexes.filter(({ isNext }) => isNext)
    const served = currentOf(indexes)?.generation ?? 0
    const going = begun.find((one) => one.generation > served && this.#isOurs(one))
    if (going !== undefined) return going.generation
    const generation = newGeneration(indexes)
    const name = firstIndex(this.#prefix, generation)
    const alias = generationAlias(this.#prefix, generation)
    const next = pointerAlias(this.#prefix, 'next')
    // Of several that begin one at once, in whatever second, the cluster lets one have the pointer.
    if (!(await this.#make(name, alias, begun.length === 0 ? next : null))) throw new Error(begunByAnother)
    if (begun.length === 0) return generation
    try {
      await changeAliases(this.#cluster, movePointer(next, begun, name))
      return generation
    } catch (error) {
      if (!isOvertaken(error)) throw error
      await deleteIndexes(this.#cluster, [name])
      throw new Error(begunByAnother)
    }
  }

  #serveNext(generation: number): Promise<number> {
    return this.#untilFirst(async () => {
      const indexes = await this.#list()
      const built = indexes.find((one) => one.generation === generation && one.isNext)
      if (built === undefined) {
        throw new Error(
          'another search index was begun while this one was built: it is not used; run tidemark reindex again',
        )
      }
      const served = indexes.filter(({ isCurrent }) => isCurrent)
      await changeAliases(this.#cluster, [
        { remove: { index: built.name, alias: pointerAlias(this.#prefix, 'next'), must_exist: true } },
        ...movePointer(pointerAlias(this.#prefix, 'current'), served, built.name),
      ])
      return generation
    })
  }
}

const begunByAnother = 'another process began to build a search index at the same moment: run tidemark reindex again'

const currentOf = (indexes: readonly NamedIndex[]): NamedIndex | null =>
  indexes.filter(({ isCurrent }) => isCurrent).sort((a, b) => b.generation - a.generation)[0] ?? null

/** Higher than any there ever was: one that was removed may still be open somewhere. */
const newGeneration = (indexes: readonly NamedIndex[]): number =>
  Math.max(Math.floor(Date.now() / 1000), ...indexes.map(({ generation }) => generation + 1))
