import type { SearchIndex } from '../../indexing/fed-index.ts'
import type { IndexHome, IndexOfOtherVersion, InspectedIndex, NextIndex } from '../../indexing/index-home.ts'
import type { Finding } from '../../operator/examine.ts'
import { isSqliteError } from '../sqlite-advice.ts'
import {
  type IndexOrigin,
  indexPath,
  isOfOrigin,
  nextGeneration,
  otherRulesPointer,
  readPointer,
  removeGenerations,
  removeIndex,
  removeStoppedRebuild,
  servedGeneration,
  serveNext,
  servePermanently,
} from './file/index-files.ts'
import { isOpenElsewhereError } from './file/index-lock.ts'
import { cannotOpen, fileBytes, inspectIndex, readPosition } from './file/inspect-index.ts'
import { chunksComfortable, openSegmentsIndex, type SegmentsIndexOptions } from './segments-index.ts'

export interface SegmentsHomeOptions extends Omit<SegmentsIndexOptions, 'path' | 'analysis'> {
  readonly dataDir: string
  readonly origin: IndexOrigin
}

/** Indexes as files of the data folder, each open in one process at a time: numbered generations. */
export class SegmentsHome implements IndexHome {
  readonly fedBy = 'each'
  readonly version = null
  readonly chunksComfortable: number
  readonly #dataDir: string
  readonly #origin: IndexOrigin
  readonly #options: Omit<SegmentsIndexOptions, 'path'>
  /** The generation that was last opened to be served. */
  #generation = 0
  /** The generation of the earlier version, until the served one is complete. */
  #kept: number | null = null

  constructor({ dataDir, origin, ...options }: SegmentsHomeOptions) {
    this.#dataDir = dataDir
    this.#origin = origin
    this.#options = options
    this.chunksComfortable = options.chunksComfortable ?? chunksComfortable
  }

  async open(): Promise<SearchIndex> {
    const { generation, kept, index } = await this.#openServed()
    this.#generation = generation
    this.#kept = kept
    await this.removeOlder()
    return index
  }

  async #openServed() {
    const { generation, kept } = await servedGeneration(this.#dataDir, this.#origin)
    return { generation, kept, index: await this.#openGeneration(generation, kept) }
  }

  async openNewer(): Promise<SearchIndex | null> {
    const pointer = await readPointer(this.#dataDir)
    if (pointer === null || pointer.generation <= this.#generation || !isOfOrigin(pointer, this.#origin)) return null
    const index = await this.#openGeneration(pointer.generation)
    this.#generation = pointer.generation
    return index
  }

  removeOlder(): Promise<void> {
    return removeGenerations(this.#dataDir, this.#generation, this.#kept)
  }

  async openNext(): Promise<NextIndex> {
    const generation = await nextGeneration(this.#dataDir, this.#origin)
    const index = await this.#openGeneration(generation).catch((error: unknown) => {
      throw isOpenElsewhereError(error) ? new Error(builtByAnother) : error
    })
    return { index, handOver: () => serveNext(this.#dataDir, generation) }
  }

  removeNext(): Promise<boolean> {
    return removeStoppedRebuild(this.#dataDir)
  }

  position(): Promise<number | null> {
    return readPosition(this.#dataDir, this.#origin)
  }

  inspect(): Promise<InspectedIndex | null> {
    return inspectIndex(this.#dataDir, this.#origin)
  }

  /** The data folder and its disk have checks of their own. */
  async examine(): Promise<readonly Finding[]> {
    return []
  }

  async otherVersions(): Promise<readonly IndexOfOtherVersion[]> {
    const other = await otherRulesPointer(this.#dataDir, this.#origin)
    // A generation that a later version serves belongs to that version.
    if (other === null || (this.#generation > 0 && other.generation !== this.#kept)) return []
    return [{ version: other.rules, bytes: fileBytes(indexPath(this.#dataDir, other.generation)) }]
  }

  async removeVersion(version: string | null): Promise<void> {
    if (!(await this.otherVersions()).some((one) => one.version === version)) return
    await servePermanently(this.#dataDir, this.#generation, this.#origin)
    this.#kept = null
    await this.removeOlder()
  }

  remove(): Promise<void> {
    return removeIndex(this.#dataDir)
  }

  async #openGeneration(generation: number, kept: number | null = null): Promise<SearchIndex> {
    const path = indexPath(this.#dataDir, generation)
    try {
      const lockedToo = kept === null ? null : indexPath(this.#dataDir, kept)
      return await openSegmentsIndex({ ...this.#options, path, lockedToo })
    } catch (error) {
      // SQLite's message names no file, so it would look like an error of the store.
      if (!isSqliteError(error)) throw error
      throw new Error(cannotOpen(path, error), { cause: error })
    }
  }
}

const builtByAnother =
  'another process is building the next search index: either a server, after an upgrade, or another tidemark reindex; try again when it has finished'
