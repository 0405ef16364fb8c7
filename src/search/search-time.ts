import type { AskedSource } from './index-source.ts'
import type { AskedIndex } from './search-index.ts'
import type { SearchTexts } from './search-texts.ts'

/** Where a search spends its time: waiting for its turn, in the index, in the store, for vectors, for the cross-encoder. */
export const searchParts = ['queue', 'index', 'store', 'embedding', 'rerank'] as const
export type SearchPart = (typeof searchParts)[number]

/**
 * The time of one search by its parts. What goes on at once counts once: the time of a part is that in which at least one
 * thing of it was waited for, so that no part takes longer than the search.
 */
export class SearchTime {
  readonly #beganAt = performance.now()
  readonly #parts = new Map<SearchPart, { underWay: number; since: number; ms: number }>()

  async spend<T>(part: SearchPart, work: () => T | Promise<T>): Promise<T> {
    let spent = this.#parts.get(part)
    if (spent === undefined) {
      spent = { underWay: 0, since: 0, ms: 0 }
      this.#parts.set(part, spent)
    }
    if (spent.underWay++ === 0) spent.since = performance.now()
    try {
      return await work()
    } finally {
      if (--spent.underWay === 0) spent.ms += performance.now() - spent.since
    }
  }

  /** Since it began. */
  get seconds(): number {
    return (performance.now() - this.#beganAt) / 1000
  }

  /** Of the parts that the search had. */
  *parts(): Generator<readonly [SearchPart, seconds: number]> {
    for (const [part, { ms }] of this.#parts) yield [part, ms / 1000]
  }

  index(index: AskedIndex): AskedIndex {
    return {
      keyword: (request) => this.spend('index', () => index.keyword(request)),
      vector: (request) => this.spend('index', () => index.vector(request)),
      similarWords: (request) => this.spend('index', () => index.similarWords(request)),
      score: (request) => this.spend('index', () => index.score(request)),
    }
  }

  source(source: AskedSource): AskedSource {
    return {
      indexedColumns: (...asked) => this.spend('store', () => source.indexedColumns(...asked)),
      versionHeads: (...asked) => this.spend('store', () => source.versionHeads(...asked)),
      results: (...asked) => this.spend('store', () => source.results(...asked)),
    }
  }

  texts(texts: SearchTexts): SearchTexts {
    return {
      present: (...asked) => this.spend('store', () => texts.present(...asked)),
      rank: (...asked) => this.spend('store', () => texts.rank(...asked)),
      rankLikely: (...asked) => this.spend('store', () => texts.rankLikely(...asked)),
      rankAndPresent: (...asked) => this.spend('store', () => texts.rankAndPresent(...asked)),
    }
  }
}
