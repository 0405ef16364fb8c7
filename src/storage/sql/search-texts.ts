import type { IndexSource } from '../../search/index-source.ts'
import type { SearchTexts } from '../../search/search-texts.ts'
import { loadOnce } from './load-once.ts'

export const sqlSearchTexts = (source: IndexSource): SearchTexts => ({
  present: async (...asked) => (await presenting()).presentResults(source, ...asked),
  rank: async (...asked) => (await ranking()).rankCandidates(source, ...asked),
  rankLikely: async (...asked) => (await ranking()).rankLikely(source, ...asked),
  rankAndPresent: async (...asked) => (await ranking()).rankAndPresent(source, ...asked),
})

/**
 * Loaded with the first search: with them come the words and stems of all languages, a good part of what a thread would
 * load at its start, and the writing one never needs them.
 */
const presenting = loadOnce(() => import('../../search/present-results.ts'))
const ranking = loadOnce(() => import('../../search/rank-candidates.ts'))
