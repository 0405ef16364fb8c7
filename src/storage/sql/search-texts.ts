import type { IndexSource } from '../../search/index-source.ts'
import type { SearchTexts } from '../../search/search-texts.ts'

export const sqlSearchTexts = (source: IndexSource): SearchTexts => ({
  present: async (...asked) => (await presenting()).presentResults(source, ...asked),
  rank: async (...asked) => (await ranking()).rankCandidates(source, ...asked),
  rankAndPresent: async (...asked) => (await ranking()).rankAndPresent(source, ...asked),
})

/**
 * Loaded with the first search: with them come the words and stems of all languages, a good part of what a thread would
 * load at its start, and the writing one never needs them. Kept, because an import that was done before still takes 60 us.
 */
const presenting = once(() => import('../../search/present-results.ts'))
const ranking = once(() => import('../../search/rank-candidates.ts'))

function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | null = null
  return () => {
    loaded ??= load()
    return loaded
  }
}
