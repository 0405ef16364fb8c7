import type { WithoutVectorPage, WithoutVectorRequest } from '../../indexing/fed-index.ts'
import { chunkField, documentChunksMax } from './mapping.ts'
import { chunksOf, idOf, type SearchCalls, withBestChunks } from './search-calls.ts'

/** The most documents in one response, because each may have many chunks. */
const documentsMax = 500

export async function listWithoutVector(
  calls: SearchCalls,
  { profileId, languages, after, limit }: WithoutVectorRequest,
): Promise<WithoutVectorPage> {
  const inLanguages = languages === null ? [] : [{ terms: { [chunkField('language')]: languages } }]
  const withoutVector = { bool: { filter: inLanguages, must_not: [{ term: { [chunkField('profiles')]: profileId } }] } }
  const { found: hits } = await calls.documents({
    size: Math.min(limit, documentsMax) + 1,
    track_total_hits: false,
    query: withBestChunks(withoutVector, documentChunksMax),
    sort: [{ id: 'asc' }],
    ...(after === null ? {} : { search_after: [after] }),
  })
  const chunks: { documentId: string; chunkId: string }[] = []
  let next: string | null = null
  for (const found of hits.slice(0, documentsMax)) {
    const documentId = idOf(found)
    for (const { chunkId } of chunksOf(found)) chunks.push({ documentId, chunkId })
    if (chunks.length < limit && found !== hits[documentsMax - 1]) continue
    next = found === hits.at(-1) ? null : documentId
    break
  }
  return { outcome: 'found', chunks, next }
}
