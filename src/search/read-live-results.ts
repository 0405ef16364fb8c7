import { type FieldPermission, readableFields, type Scope } from '../access/scope.ts'
import type { ItemPosition, LiveItem, LiveQuery, LiveStore } from '../live/live-store.ts'
import { findHits } from '../text/find-hits.ts'
import { guessLanguage } from '../text/guess-language.ts'
import { summarise } from '../text/highlight.ts'
import { parseQuery } from '../text/parse-query.ts'
import type { KeywordQuery } from '../text/types.ts'
import { searchLimits } from './limits.ts'
import { makeResult } from './present/present-results.ts'
import { resultFields } from './present/result-fields.ts'
import type { ResultItem } from './present/result-item.ts'
import { chunksOf } from './version-chunks.ts'

const allFields = new Set(resultFields)

/**
 * A page of those results of a live query that the scope opens. The collectors decide the order: the first items of all
 * platforms come first, and the score only expresses that order. `next` is the position to continue from, null at the
 * end.
 */
export async function readLiveResults(
  store: LiveStore,
  liveQuery: LiveQuery,
  scope: Scope,
  after: ItemPosition | null,
  limit: number,
): Promise<{ results: ResultItem[]; next: ItemPosition | null }> {
  const query = parseQuery(liveQuery.query, null)
  const results: ResultItem[] = []
  let position = after
  for (;;) {
    // One more item than requested shows whether there is a next page.
    const items = await store.items(liveQuery.liveQueryId, position, limit + 1)
    const opened = items.map((item) => ({ item, fields: readableFields(scope, item) }))
    const withBody = opened.filter(({ fields }) => fields?.has('body')).map(({ item }) => item.versionId)
    const bodies = new Map((await store.bodies(withBody)).map(({ versionId, body }) => [versionId, body]))
    for (const { item, fields } of opened) {
      if (fields !== null && results.length === limit) return { results, next: position }
      if (fields !== null) results.push(present(item, bodies.get(item.versionId) ?? null, query, fields))
      position = item.position
    }
    if (items.length <= limit) return { results, next: null }
  }
}

/** `readBody` is null if the body may not be read. The best chunk is then the first one, which every version has. */
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
  const { documentId, versionId } = item
  const score = 1 / (1 + item.position[0])
  const ranked = { score, keywordScore: null, vectorScore: null, rerankScore: null, explanation: null }
  return makeResult(allFields, readable, {
    found: { documentId, best: { chunkId: best.chunkId, versionId, score }, ...ranked },
    document: item,
    title: item.title,
    details: item,
    detailsReadable: readable,
    body: readable.has('body') ? summarise(text, language, query, searchLimits.summaryCharactersMax) : '',
    origin: 'live',
  })
}
