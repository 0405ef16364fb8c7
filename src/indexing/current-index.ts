import type { SearchIndex } from './fed-index.ts'

/**
 * The index that is served now. A rebuilt index replaces it between two calls; the old index is closed when the last
 * call on it has ended.
 */
export class CurrentIndex implements SearchIndex {
  #served: { readonly index: SearchIndex; calls: number; replaced: (() => void) | null }

  constructor(index: SearchIndex) {
    this.#served = { index, calls: 0, replaced: null }
  }

  /** Resolves when the old index is closed. */
  async replace(index: SearchIndex): Promise<void> {
    const old = this.#served
    this.#served = { index, calls: 0, replaced: null }
    if (old.calls > 0) {
      await new Promise<void>((resolve) => {
        old.replaced = resolve
      })
    }
    await old.index.close()
  }

  get isSound(): boolean {
    return this.#served.index.isSound
  }

  apply: SearchIndex['apply'] = (batch) => this.#call((index) => index.apply(batch))
  keyword: SearchIndex['keyword'] = (request) => this.#call((index) => index.keyword(request))
  vector: SearchIndex['vector'] = (request) => this.#call((index) => index.vector(request))
  similarWords: SearchIndex['similarWords'] = (request) => this.#call((index) => index.similarWords(request))
  score: SearchIndex['score'] = (request) => this.#call((index) => index.score(request))
  values: SearchIndex['values'] = (request) => this.#call((index) => index.values(request))
  withoutVector: SearchIndex['withoutVector'] = (request) => this.#call((index) => index.withoutVector(request))
  position: SearchIndex['position'] = () => this.#call((index) => index.position())
  health: SearchIndex['health'] = () => this.#call((index) => index.health())
  checkpoint: SearchIndex['checkpoint'] = () => this.#call((index) => index.checkpoint())
  purge: SearchIndex['purge'] = () => this.#call((index) => index.purge())
  clear: SearchIndex['clear'] = () => this.#call((index) => index.clear())
  close: SearchIndex['close'] = () => this.#served.index.close()

  async #call<T>(work: (index: SearchIndex) => Promise<T>): Promise<T> {
    const served = this.#served
    served.calls++
    try {
      return await work(served.index)
    } finally {
      if (--served.calls === 0) served.replaced?.()
    }
  }
}
