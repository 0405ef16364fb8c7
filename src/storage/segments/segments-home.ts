import type { IndexHome, InspectedIndex, NextIndex } from '../../search/index-home.ts'
import type { SearchIndex } from '../../search/search-index.ts'
import {
  type IndexOrigin,
  indexPath,
  isOfOrigin,
  nextGeneration,
  readPointer,
  removeGenerations,
  removeIndex,
  servedGeneration,
  serveNext,
} from './file/index-files.ts'
import { cannotOpen, inspectIndex, readPosition } from './file/inspect-index.ts'
import { chunksComfortable, openSegmentsIndex, type SegmentsIndexOptions } from './segments-index.ts'

export interface SegmentsHomeOptions extends Omit<SegmentsIndexOptions, 'path' | 'analysis'> {
  readonly dataDir: string
  readonly origin: IndexOrigin
}

/** Indexes as files of the data folder, of which one process has one open at a time: generations, by number. */
export class SegmentsHome implements IndexHome {
  readonly fedBy = 'each'
  readonly chunksComfortable: number
  readonly #dataDir: string
  readonly #origin: IndexOrigin
  readonly #options: Omit<SegmentsIndexOptions, 'path'>
  /** The one that was opened last to be served. */
  #generation = 0

  constructor({ dataDir, origin, ...options }: SegmentsHomeOptions) {
    this.#dataDir = dataDir
    this.#origin = origin
    this.#options = options
    this.chunksComfortable = options.chunksComfortable ?? chunksComfortable
  }

  async open(): Promise<SearchIndex> {
    const { generation, index } = await this.#openServed().catch((error: unknown) => {
      const inUse = error instanceof Error && error.message.includes('open in another process')
      throw inUse
        ? new Error(
            `${this.#dataDir} is served by another process: stop it, or set TIDEMARK_DATA_DIR to a folder of its own`,
          )
        : error
    })
    this.#generation = generation
    await this.removeOlder()
    return index
  }

  async #openServed(): Promise<{ generation: number; index: SearchIndex }> {
    const generation = await servedGeneration(this.#dataDir, this.#origin)
    return { generation, index: await this.#openGeneration(generation) }
  }

  async openNewer(): Promise<SearchIndex | null> {
    const pointer = await readPointer(this.#dataDir)
    if (pointer === null || pointer.generation <= this.#generation || !isOfOrigin(pointer, this.#origin)) return null
    const index = await this.#openGeneration(pointer.generation)
    this.#generation = pointer.generation
    return index
  }

  removeOlder(): Promise<void> {
    return removeGenerations(this.#dataDir, this.#generation)
  }

  async openNext(): Promise<NextIndex> {
    const generation = await nextGeneration(this.#dataDir, this.#origin)
    return { index: await this.#openGeneration(generation), handOver: () => serveNext(this.#dataDir, generation) }
  }

  position(): Promise<number | null> {
    return readPosition(this.#dataDir, this.#origin)
  }

  inspect(): Promise<InspectedIndex | null> {
    return inspectIndex(this.#dataDir, this.#origin)
  }

  remove(): Promise<void> {
    return removeIndex(this.#dataDir)
  }

  async #openGeneration(generation: number): Promise<SearchIndex> {
    const path = indexPath(this.#dataDir, generation)
    try {
      return await openSegmentsIndex({ ...this.#options, path })
    } catch (error) {
      // What SQLite says names no file, and would be taken for a word on the store.
      if ((error as NodeJS.ErrnoException).code !== 'ERR_SQLITE_ERROR') throw error
      throw new Error(cannotOpen(path, error), { cause: error })
    }
  }
}
