import { isUnavailability } from '../../errors.ts'
import type { KeywordPage, KeywordRequest } from '../../search/search-index.ts'
import type { Profiles } from './profiles.ts'
import type { SearchCalls } from './search-calls.ts'
import { scoreKeyword } from './search-keyword.ts'
import { cosinesOf } from './search-vector.ts'

/**
 * What a hybrid search would ask next of the documents found by words. Asked here, it is answered while the search by
 * vectors is still under way, which takes one exchange more. Where that fails, they do not tell it, and are asked for it.
 */
export async function withOtherScores(
  calls: SearchCalls,
  request: KeywordRequest,
  page: KeywordPage,
  profiles: Profiles,
): Promise<KeywordPage> {
  const { near = [], explain = false, explainFirst = false } = request
  const [first] = page.hits
  if (first === undefined) return page
  const documentIds = page.hits.map(({ documentId }) => documentId)
  const cosinesWith = async ({ filters, ...vector }: (typeof near)[number]) =>
    cosinesOf(calls, { ...request, filters, documentIds, vector }, await profiles.known(vector.profileId))
  const partsOfFirst = async () => {
    if (explain || !explainFirst) return first.parts
    const asked = { ...request, documentIds: [first.documentId], explain: true, vector: null }
    return (await scoreKeyword(calls, { ...asked, statistics: page.statistics })).get(first.documentId)?.parts
  }
  try {
    const [parts, ...cosines] = await Promise.all([partsOfFirst(), ...near.map(cosinesWith)])
    const hits = page.hits.map((hit) => ({
      ...hit,
      ...(hit === first && parts !== undefined && { parts }),
      ...(near.length > 0 && { cosines: cosines.map((of) => of.get(hit.documentId) ?? null) }),
    }))
    return { ...page, hits }
  } catch (error) {
    if (!isUnavailability(error)) throw error
    return page
  }
}
