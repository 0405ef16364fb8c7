import { isUnavailability } from '../../errors.ts'
import type { ChunkScore, KeywordPage, KeywordRequest } from '../../search/search-index.ts'
import type { CountedQueries } from './counted-queries.ts'
import type { Profiles } from './profiles.ts'
import type { SearchCalls } from './search-calls.ts'
import { keywordScores } from './search-keyword.ts'
import { cosines } from './search-vector.ts'

/**
 * What a hybrid search would ask next of the documents found by words. Asked here, it is answered while the search by
 * vectors is still under way, which takes one exchange more. Where that fails, they do not tell it, and are asked for it.
 */
export async function withOtherScores(
  calls: SearchCalls,
  request: KeywordRequest,
  page: KeywordPage,
  profiles: Profiles,
  counted: CountedQueries,
): Promise<KeywordPage> {
  const { near = [], explain = false, explainFirst = false, query, scope } = request
  const [first] = page.hits
  const statistics = explain || !explainFirst ? null : counted.of(query, scope)
  if (first === undefined || (near.length === 0 && statistics === null)) return page
  const documentIds = page.hits.map(({ documentId }) => documentId)
  const cosinesWith = async ({ filters, ...vector }: (typeof near)[number]) =>
    cosines({ ...request, filters, documentIds, vector }, await profiles.known(vector.profileId))
  const partsOfFirst =
    statistics && keywordScores({ ...request, documentIds: [first.documentId], explain: true }, statistics)
  try {
    const asked = await Promise.all(near.map(cosinesWith))
    const [scores, ...told] = await calls.askTogether<[Scores, ...Cosines[]]>([partsOfFirst, ...asked])
    const parts = scores?.get(first.documentId)?.parts ?? first.parts
    const hits = page.hits.map((hit) => ({
      ...hit,
      ...(hit === first && parts !== undefined && { parts }),
      ...(near.length > 0 && { cosines: told.map((of) => of?.get(hit.documentId) ?? null) }),
    }))
    return { ...page, hits }
  } catch (error) {
    if (!isUnavailability(error)) throw error
    return page
  }
}

type Scores = ReadonlyMap<string, ChunkScore>
type Cosines = ReadonlyMap<string, number>
