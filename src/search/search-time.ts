import { type Tracer, untraced } from '../platform/tracing.ts'
import type { QueriedIndex } from './search-index.ts'
import type { SearchTexts } from './search-texts.ts'

/** The parts of a search's time: waiting for a slot, index, store, embedding, cross-encoder. */
export const searchParts = ['queue', 'index', 'store', 'embedding', 'rerank'] as const
export type SearchPart = (typeof searchParts)[number]

/**
 * The time of one search by its parts. Parallel calls of one part count once: the time of a part is the time in which
 * at least one of its calls was in progress, so no part takes longer than the search.
 */
export class SearchTime {
  readonly #startedAt = performance.now()
  readonly #parts = new Map<SearchPart, { running: number; since: number; ms: number }>()
  readonly #tracer: Tracer

  constructor(tracer: Tracer = untraced) {
    this.#tracer = tracer
  }

  /** Adds a span to the trace, without a metric. */
  trace<T>(name: 'fuse', work: () => T): T {
    return this.#tracer.childSpan(`search ${name}`, work)
  }

  async spend<T>(part: SearchPart, work: () => T | Promise<T>): Promise<T> {
    let spent = this.#parts.get(part)
    if (spent === undefined) {
      spent = { running: 0, since: 0, ms: 0 }
      this.#parts.set(part, spent)
    }
    if (spent.running++ === 0) spent.since = performance.now()
    try {
      // Calls of the index and the store create their own spans.
      return await (part === 'index' || part === 'store' ? work() : this.#tracer.childSpan(`search ${part}`, work))
    } finally {
      if (--spent.running === 0) spent.ms += performance.now() - spent.since
    }
  }

  /** Since the start of the search. */
  get seconds(): number {
    return (performance.now() - this.#startedAt) / 1000
  }

  /** The seconds of each part that the search used. */
  *parts(): Generator<readonly [SearchPart, seconds: number]> {
    for (const [part, { ms }] of this.#parts) yield [part, ms / 1000]
  }

  /** Wraps the parts of a search so that their time is measured. */
  timed<Parts extends { index: QueriedIndex; texts: SearchTexts }>(parts: Parts): Parts {
    const { index, texts } = parts
    return { ...parts, index: this.index(index), texts: this.#texts(texts) }
  }

  index(index: QueriedIndex): QueriedIndex {
    return {
      keyword: (request) => this.spend('index', () => index.keyword(request)),
      vector: (request) => this.spend('index', () => index.vector(request)),
      similarWords: (request) => this.spend('index', () => index.similarWords(request)),
      score: (request) => this.spend('index', () => index.score(request)),
    }
  }

  #texts(texts: SearchTexts): SearchTexts {
    return {
      present: (...request) => this.spend('store', () => texts.present(...request)),
      rank: (...request) => this.spend('store', () => texts.rank(...request)),
      count: (...request) => this.spend('store', () => texts.count(...request)),
    }
  }
}
