import { countCandidates } from '../../search/present/count-candidates.ts'
import { presentResults } from '../../search/present/present-results.ts'
import { rankCandidates } from '../../search/rerank/rank-candidates.ts'
import type { SearchSource } from '../../search/search-source.ts'
import type { SearchTexts } from '../../search/search-texts.ts'

export const sqlSearchTexts = (source: SearchSource): SearchTexts => ({
  present: (...request) => presentResults(source, ...request),
  rank: (...request) => rankCandidates(source, ...request),
  count: (...request) => countCandidates(source, ...request),
})
