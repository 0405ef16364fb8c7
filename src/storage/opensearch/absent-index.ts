import { TidemarkError } from '../../errors.ts'
import type { SearchIndex, Unavailable } from '../../search/search-index.ts'

/**
 * Stands in for the index of a cluster that was away when it was to be opened: it finds nothing, takes nothing, and says
 * why. Its place is taken as soon as the cluster is there (`openNewer`).
 */
export class AbsentIndex implements SearchIndex {
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
  count = (): Promise<Unavailable> => this.#unavailable()
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
