import type { CountPage, CountRequest, WithoutVectorPage, WithoutVectorRequest } from '../../search/search-index.ts'
import { chunksPath, documentChunksMax, ofChunk } from './mapping.ts'
import { allOf, filterQueries, nested, ofDatasets, visibleChunks, visibleClasses } from './scope-query.ts'
import { chunksOf, idOf, type SearchCalls, withBestChunks } from './search-calls.ts'

interface Counted {
  readonly hits: { readonly total: { readonly value: number } }
  readonly aggregations: { readonly chunks: { readonly visible: { readonly doc_count: number } } }
}

export async function countVisible(calls: SearchCalls, { scope, filters }: CountRequest): Promise<CountPage> {
  const classes = visibleClasses(scope)
  if (classes.length === 0) return { outcome: 'found', documents: 0, chunks: 0 }
  const visible = visibleChunks(classes, filterQueries(filters))
  const { hits, aggregations } = await calls.search<Counted>({
    size: 0,
    track_total_hits: true,
    query: allOf(ofDatasets(scope), nested(visible)),
    aggs: { chunks: { nested: { path: chunksPath }, aggs: { visible: { filter: visible } } } },
  })
  return { outcome: 'found', documents: hits.total.value, chunks: aggregations.chunks.visible.doc_count }
}

/** Documents in one answer: each may have many chunks. */
const documentsMax = 500

export async function listWithoutVector(
  calls: SearchCalls,
  { profileId, languages, after, limit }: WithoutVectorRequest,
): Promise<WithoutVectorPage> {
  const wanted = languages === null ? [] : [{ terms: { [ofChunk('language')]: languages } }]
  const lacking = { bool: { filter: wanted, must_not: [{ term: { [ofChunk('profiles')]: profileId } }] } }
  const { found: hits } = await calls.documents({
    size: Math.min(limit, documentsMax) + 1,
    track_total_hits: false,
    query: withBestChunks(lacking, documentChunksMax),
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
