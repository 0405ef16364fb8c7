import { type FieldPermission, readableFields, type Scope } from '../access/scope.ts'
import type { ItemPlace, LiveItem, LiveQuery, LiveStore } from '../live/live-store.ts'
import { findHits } from '../text/find-hits.ts'
import { guessLanguage } from '../text/guess-language.ts'
import { summarise } from '../text/highlight.ts'
import { parseQuery } from '../text/parse-query.ts'
import type { KeywordQuery } from '../text/types.ts'
import { searchLimits } from './limits.ts'
import { chunksOf } from './prepare-document.ts'
import { describeDetails, describeDocument } from './present-results.ts'
import { resultFields } from './result-fields.ts'
import type { ResultItem } from './result-item.ts'

const allFields = new Set(resultFields)

/**
 * A page of what a live query brought, as far as the scope shows it. The order is the collectors' own, the first items
 * of all platforms first; the score only says that order. `next` is the place to go on from, null at the end.
 */
export async function readLiveResults(
  store: LiveStore,
  liveQuery: LiveQuery,
  scope: Scope,
  after: ItemPlace | null,
  limit: number,
): Promise<{ results: ResultItem[]; next: ItemPlace | null }> {
  const query = parseQuery(liveQuery.query, null)
  const results: ResultItem[] = []
  let place = after
  for (;;) {
    // One more than is wanted tells whether a next page has anything to show.
    const items = await store.items(liveQuery.liveQueryId, place, limit + 1)
    const opened = items.map((item) => ({ item, fields: readableFields(scope, item) }))
    const withBody = opened.filter(({ fields }) => fields?.has('body')).map(({ item }) => item.versionId)
    const bodies = new Map((await store.bodies(withBody)).map(({ versionId, body }) => [versionId, body]))
    for (const { item, fields } of opened) {
      if (fields !== null && results.length === limit) return { results, next: place }
      if (fields !== null) results.push(present(item, bodies.get(item.versionId) ?? null, query, fields))
      place = item.place
    }
    if (items.length <= limit) return { results, next: null }
  }
}

/** A body that may not be read is null here: then the first chunk is named, which every version has. */
function present(
  item: LiveItem,
  readBody: string | null,
  query: KeywordQuery,
  readable: ReadonlySet<FieldPermission>,
): ResultItem {
  const body = readBody ?? ''
  const language = item.language ?? guessLanguage(body)
  const hits = findHits(body, language, query)
  const chunks = [...chunksOf(item.documentId, { versionId: item.versionId, body })]
  let best = chunks[0]!
  let bestHits = 0
  for (const chunk of chunks) {
    const count = hits.filter(({ start }) => start >= chunk.startsAt && start < chunk.endsAt).length
    if (count > bestHits) [best, bestHits] = [chunk, count]
  }
  const text = body.slice(best.startsAt, best.endsAt)
  return {
    document_id: item.documentId,
    version_id: item.versionId,
    best_chunk_id: best.chunkId,
    dataset_id: item.datasetId,
    source_platform: item.platform,
    ...(readable.has('title') ? { title: item.title } : {}),
    ...describeDocument(item, allFields),
    ...describeDetails(item, allFields, readable),
    ...(readable.has('body') ? { body: summarise(text, language, query, searchLimits.summaryCharactersMax) } : {}),
    origin: 'live',
    score: 1 / (1 + item.place[0]),
    keyword_score: null,
    vector_score: null,
    rerank_score: null,
  }
}
