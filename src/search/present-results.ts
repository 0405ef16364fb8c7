import { type FieldPermission, readableFields, type Scope } from '../access/scope.ts'
import { findHits, type Hit } from '../text/find-hits.ts'
import { highlight, summarise } from '../text/highlight.ts'
import type { LocatedText } from '../text/types.ts'
import { formatOptionalTime } from '../time.ts'
import type { FoundDocument } from './found-document.ts'
import { IdMap } from './id-map.ts'
import type { ChunkText, DocumentDetails, IndexSource, ShownChunk } from './index-source.ts'
import { searchLimits as limits } from './limits.ts'
import { openedBy, type ResultField } from './result-fields.ts'
import type { ResultItem } from './result-item.ts'
import type { VersionColumns } from './search-index.ts'
import type { FoundPage, PresentedPage } from './search-texts.ts'

/**
 * Results in the words of the API, with the fields that both the request and the entitlements open. `locatedIn`: the words
 * of the query in the texts of some chunks, where they were read before.
 */
export async function presentResults(
  source: Pick<IndexSource, 'shownChunks'>,
  page: FoundPage,
  scope: Scope,
  locatedIn: Pick<IdMap<LocatedText>, 'get'> = new IdMap(),
): Promise<PresentedPage> {
  const { found, fields } = page
  const chunkIds = found.flatMap((one) => [one.best, ...(page.chunks ? one.others : [])].map(({ chunkId }) => chunkId))
  const read = await source.shownChunks(chunkIds, showsDetails(fields), scope)
  const textOf = new IdMap<ShownChunk>()
  for (const text of read) textOf.add(text.chunkId, text)
  const results = found.flatMap((one): ResultItem[] => {
    const text = textOf.get(one.best.chunkId)
    const readable = text === undefined ? null : readableFields(scope, text.document)
    // Changed between the search and now, so that it is no longer there or no longer visible.
    if (text === undefined || readable === null) return []
    const { document, details } = text
    const titleReadable = readable.has('title')
    const bodyReadable = readable.has('body')
    // Looked for once, for the summary and the highlights.
    const located = locatedIn.get(one.best.chunkId) ?? null
    const isRead = bodyReadable && (page.highlights || located !== null)
    const hits = isRead ? findHits(text.text, text.language, page.query, located) : undefined
    const item: ResultItem = {
      document_id: one.documentId,
      version_id: one.best.versionId,
      best_chunk_id: one.best.chunkId,
      dataset_id: document.datasetId,
      source_platform: document.platform,
      ...(fields.has('title') && titleReadable ? { title: text.title } : {}),
      ...describeDocument(document, fields),
      ...(details === null
        ? {}
        : describeDetails(details, fields, detailsReadable(details, document, readable, scope))),
      ...(fields.has('body') && bodyReadable
        ? { body: summarise(text.text, text.language, page.query, limits.summaryCharactersMax, hits) }
        : {}),
      origin: 'indexed',
      score: one.score,
      keyword_score: one.keywordScore,
      vector_score: one.vectorScore,
      rerank_score: one.rerankScore,
      ...(one.explanation === null ? {} : { explanation: one.explanation }),
    }
    if (page.highlights) item.highlights = highlightsOf(text, page, titleReadable, hits ?? [])
    if (page.chunks) item.matched_chunks = matchedChunks(one, textOf, page, fields.has('body') && bodyReadable)
    return [item]
  })
  return { total: results.length, results: JSON.stringify(results) }
}

const detailFields = ['url', 'external_id', 'author', 'topics', 'tags'] as const satisfies readonly ResultField[]

/** Whether a page with these fields shows what is read of a document beside its texts and columns. */
export const showsDetails = (fields: ReadonlySet<ResultField>): boolean =>
  detailFields.some((field) => fields.has(field))

/**
 * Address, author, topics and tags are told of the document as it is now: they are open where that is, not where an earlier
 * version of it is. Null where it is not. The two differ by their languages alone, and mostly not at all.
 */
const detailsReadable = (
  { language }: DocumentDetails,
  document: VersionColumns,
  readable: ReadonlySet<FieldPermission>,
  scope: Scope,
): ReadonlySet<FieldPermission> | null =>
  language === document.language ? readable : readableFields(scope, { ...document, language })

/** What a result shows of its columns. Whoever sees the document sees them. */
export function describeDocument(
  columns: Pick<VersionColumns, 'contentType' | 'language' | 'publishedAt' | 'status' | 'region'>,
  fields: ReadonlySet<ResultField>,
): Pick<ResultItem, 'content_type' | 'language' | 'published_at' | 'status' | 'region'> {
  const shown: ReturnType<typeof describeDocument> = {}
  if (fields.has('content_type')) shown.content_type = columns.contentType
  if (fields.has('language')) shown.language = columns.language
  if (fields.has('published_at')) shown.published_at = formatOptionalTime(columns.publishedAt)
  if (fields.has('status')) shown.status = columns.status
  if (fields.has('region')) shown.region = columns.region
  return shown
}

/** The other fields that are asked for, as far as they may be read. */
export function describeDetails(
  details: Omit<DocumentDetails, 'language'>,
  fields: ReadonlySet<ResultField>,
  readable: ReadonlySet<FieldPermission> | null,
): Pick<ResultItem, (typeof detailFields)[number]> {
  const shown: ReturnType<typeof describeDetails> = {}
  if (fields.has('external_id')) shown.external_id = details.externalId
  if (readable === null) return shown
  const isOpen = (field: ResultField) =>
    fields.has(field) && (openedBy[field]?.some((permission) => readable.has(permission)) ?? true)
  const { author } = details
  if (isOpen('url')) shown.url = details.url
  if (isOpen('author')) {
    shown.author = author && { external_author_id: author.externalAuthorId, nickname: author.nickname }
  }
  if (isOpen('topics')) shown.topics = [...details.topics]
  if (isOpen('tags')) shown.tags = [...details.tags]
  return shown
}

/** The title first, where it has a hit; then the best places of the chunk. Never from a field that is not readable. */
function highlightsOf(text: ChunkText, { query }: FoundPage, titleReadable: boolean, hits: readonly Hit[]): string[] {
  const options = { maxFragments: limits.highlightsMax }
  const title = titleReadable ? highlight(text.title ?? '', text.language, query, { maxFragments: 1 }) : []
  const body = hits.length > 0 ? highlight(text.text, text.language, query, options, hits) : []
  return [...title, ...body].slice(0, limits.highlightsMax)
}

function matchedChunks(
  one: FoundDocument,
  textOf: Pick<IdMap<ChunkText>, 'get'>,
  { query }: FoundPage,
  bodyReadable: boolean,
): NonNullable<ResultItem['matched_chunks']> {
  return [one.best, ...one.others].flatMap(({ chunkId, score }) => {
    const text = textOf.get(chunkId)
    if (text === undefined) return []
    const body = bodyReadable ? { body: summarise(text.text, text.language, query, limits.summaryCharactersMax) } : {}
    return [{ chunk_id: chunkId, chunk_index: text.ordinal, ...body, score }]
  })
}
