import type { IndexSource } from '../../search/index-source.ts'
import type { SearchTexts } from '../../search/search-texts.ts'

export function sqlSearchTexts(source: IndexSource): SearchTexts {
  return {
    async present(page, scope) {
      const { presentResults } = await textWork()
      return presentResults(source, page, scope)
    },
  }
}

/**
 * Loaded with the first search: with it come the words and stems of all languages, a good part of what a thread would load
 * at its start, and the writing one never needs them. Kept, because an import that has been done still takes 60 us.
 */
let loaded: Promise<typeof import('../../search/present-results.ts')> | null = null
const textWork = () => {
  loaded ??= import('../../search/present-results.ts')
  return loaded
}
