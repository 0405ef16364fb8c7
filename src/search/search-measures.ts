import { type Measures, type Observe, secondsBuckets } from '../platform/measures.ts'
import { type Mode, modes } from './parse/search-request.ts'
import { type SearchPart, type SearchTime, searchParts } from './search-time.ts'

/** Records the duration of successful searches and of their parts. */
export class SearchMeasures {
  readonly #seconds: Observe<'mode'>
  readonly #part: Observe<'mode' | 'part'>

  constructor(measures: Measures) {
    this.#seconds = measures.histogram({
      name: 'tidemark_search_seconds',
      help: 'Time of searches that were answered, by mode.',
      labels: ['mode'],
      known: modes.map((mode) => ({ mode })),
      buckets: secondsBuckets,
    })
    this.#part = measures.histogram({
      name: 'tidemark_search_part_seconds',
      help: 'Time of searches that were answered, by mode and part; parallel parts overlap.',
      labels: ['mode', 'part'],
      known: modes.flatMap((mode) => partsOf(mode).map((part) => ({ mode, part }))),
      buckets: secondsBuckets,
    })
  }

  searched(mode: Mode, time: SearchTime): void {
    this.#seconds({ mode }, time.seconds)
    for (const [part, seconds] of time.parts()) this.#part({ mode, part }, seconds)
  }
}

/** A keyword search needs no embedding, and only a hybrid search is reranked. */
const partsOf = (mode: Mode): readonly SearchPart[] =>
  mode === 'hybrid'
    ? searchParts
    : mode === 'vector'
      ? ['queue', 'index', 'store', 'embedding']
      : ['queue', 'index', 'store']
