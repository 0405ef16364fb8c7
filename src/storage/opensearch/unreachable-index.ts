import type { SearchIndex } from '../../indexing/fed-index.ts'
import { TidemarkError } from '../../platform/errors.ts'
import type { Unavailable } from '../../search/search-index.ts'

/**
 * Represents an index whose cluster could not be reached when it was opened. Every call fails with the reason. The real
 * index replaces it as soon as the cluster is reachable (`openNewer`).
 */
export class UnreachableIndex implements SearchIndex {
  readonly isSound = true
  readonly #reason: string

  constructor(reason: string) {
    this.#reason = reason
  }

  apply = (): Promise<Unavailable> => this.#unavailable()
  keyword = (): Promise<Unavailable> => this.#unavailable()
  vector = (): Promise<Unavailable> => this.#unavailable()
  similarWords = (): Promise<Unavailable> => this.#unavailable()
  score = (): Promise<Unavailable> => this.#unavailable()
  values = (): Promise<Unavailable> => this.#unavailable()
  withoutVector = (): Promise<Unavailable> => this.#unavailable()
  position = (): Promise<never> => this.#refuse()
  health = (): Promise<never> => this.#refuse()
  purge = (): Promise<never> => this.#refuse()
  clear = (): Promise<never> => this.#refuse()
  async checkpoint(): Promise<void> {}
  async close(): Promise<void> {}

  async #unavailable(): Promise<Unavailable> {
    return { outcome: 'unavailable', reason: this.#reason }
  }

  async #refuse(): Promise<never> {
    throw new TidemarkError('search_backend_unavailable', this.#reason)
  }
}
