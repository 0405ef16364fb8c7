import { type Static, Type } from 'typebox'
import { type FieldPermission, readableFields, type Scope } from '../access/scope.ts'
import { documentStatuses } from '../ingest/content-store.ts'
import { findHits, type Hit } from '../text/find-hits.ts'
import { highlight, summarise } from '../text/highlight.ts'
import { formatOptionalTime } from '../time.ts'
import { choice, dateTime, named, orNull } from '../validation.ts'
import { Explanation } from './explain.ts'
import type { ChunkText, DocumentDetails, ShownChunk, ShownPage } from './index-source.ts'
import { searchLimits as limits } from './limits.ts'
import type { VersionColumns } from './search-index.ts'
import { openedBy, type ResultField, type SearchRequest } from './search-request.ts'
import type { AskedSource } from './search-time.ts'
import type { FoundDocument, SearchResult } from './searcher.ts'

export const ResultItem = named(
  'SearchResult',
  Type.Object({
    document_id: Type.String(),
    version_id: Type.String(),
    best_chunk_id: Type.String(),
    dataset_id: Type.String(),
    source_platform: Type.String(),
    title: Type.Optional(orNull(Type.String())),
    content_type: Type.Optional(orNull(Type.String())),
    language: Type.Optional(orNull(Type.String())),
    published_at: Type.Optional(orNull(dateTime)),
    status: Type.Optional(
      choice(documentStatuses, { description: 'An addition: what the collector last said of the original.' }),
    ),
    url: Type.Optional(
      orNull(Type.String(), {
        description: 'An addition: where the original stands. Absent where an earlier version alone may be read.',
      }),
    ),
    external_id: Type.Optional(Type.String({ description: 'An addition: the id on the platform.' })),
    region: Type.Optional(orNull(Type.String(), { description: 'An addition.' })),
    author: Type.Optional(
      orNull(
        named(
          'ResultAuthor',
          Type.Object({ external_author_id: orNull(Type.String()), nickname: orNull(Type.String()) }),
        ),
        { description: 'An addition. With `author` or `metadata`; null where nothing was collected of the author.' },
      ),
    ),
    topics: Type.Optional(Type.Array(Type.String(), { description: 'An addition. With `metadata`.' })),
    tags: Type.Optional(Type.Array(Type.String(), { description: 'An addition. With `metadata`.' })),
    body: Type.Optional(
      Type.String({ description: `At most ${limits.summaryCharactersMax} characters around the best match.` }),
    ),
    origin: choice(['indexed', 'live']),
    score: Type.Number({ description: 'Orders the results, unless `sort` names another order.' }),
    keyword_score: orNull(Type.Number()),
    vector_score: orNull(Type.Number({ description: 'Cosine similarity.' })),
    rerank_score: orNull(Type.Number()),
    explanation: Type.Optional(Explanation),
    highlights: Type.Optional(
      Type.Array(Type.String(), { description: 'Up to 3 fragments: HTML-escaped text with hits in `<em>…</em>`.' }),
    ),
    matched_chunks: Type.Optional(
      Type.Array(
        named(
          'MatchedChunk',
          Type.Object({
            chunk_id: Type.String(),
            chunk_index: Type.Integer(),
            body: Type.Optional(Type.String()),
            score: Type.Number(),
          }),
        ),
      ),
    ),
  }),
)
type ResultItem = Static<typeof ResultItem>

/** Results in the words of the API, with the fields that both the request and the entitlements open. */
export async function presentResults(
  result: SearchResult,
  request: SearchRequest,
  scope: Scope,
  source: AskedSource,
): Promise<ResultItem[]> {
  const { found } = result
  const { fields } = request
  const unread = found.flatMap((one) => [
    ...(one.shown === null ? [one.best.chunkId] : []),
    ...(request.chunks ? othersOf(one).map((chunk) => chunk.chunkId) : []),
  ])
  const detailed = detailFields.some((field) => fields.has(field)) ? found.map(({ documentId }) => documentId) : []
  const read = unread.length + detailed.length === 0 ? emptyPage : await source.shownPage(unread, detailed, scope)
  const textOf = new Map<string, ShownChunk>()
  for (const text of [...found.map(({ shown }) => shown), ...read.chunks])
    if (text !== null) textOf.set(text.chunkId, text)
  const detailsOf = new Map(read.details.map((details) => [details.documentId, details]))
  return found.flatMap((one): ResultItem[] => {
    const text = textOf.get(one.best.chunkId)
    const readable = text === undefined ? null : readableFields(scope, text.document)
    const details = detailsOf.get(one.documentId) ?? null
    // Changed between the search and now, so that it is no longer there or no longer visible.
    if (text === undefined || readable === null || (details === null && detailed.length > 0)) return []
    const { document } = text
    const titleReadable = readable.has('title')
    const bodyReadable = readable.has('body')
    // Looked for once, for the summary and the highlights.
    const hits = request.highlights && bodyReadable ? findHits(text.text, text.language, result.query) : undefined
    const item: ResultItem = {
      document_id: one.documentId,
      version_id: one.best.versionId,
      best_chunk_id: one.best.chunkId,
      dataset_id: document.datasetId,
      source_platform: document.platform,
      ...(fields.has('title') && titleReadable ? { title: text.title } : {}),
      ...describeDocument(document, fields),
      ...(details === null ? {} : describeDetails(details, fields, detailsReadable(scope, document, details))),
      ...(fields.has('body') && bodyReadable
        ? { body: summarise(text.text, text.language, result.query, limits.summaryCharactersMax, hits) }
        : {}),
      origin: 'indexed',
      score: one.score,
      keyword_score: one.keywordScore,
      vector_score: one.vectorScore,
      rerank_score: one.rerankScore,
      ...(one.explanation === null ? {} : { explanation: one.explanation }),
    }
    if (request.highlights) item.highlights = highlightsOf(text, result, titleReadable, hits ?? [])
    if (request.chunks) item.matched_chunks = matchedChunks(one, textOf, result, fields.has('body') && bodyReadable)
    return [item]
  })
}

const emptyPage: ShownPage = { chunks: [], details: [] }

const detailFields = ['url', 'external_id', 'author', 'topics', 'tags'] as const satisfies readonly ResultField[]

/**
 * Address, author, topics and tags are told of the document as it is now: they are open where that is, not where an earlier
 * version of it is. Null where it is not.
 */
const detailsReadable = (
  scope: Scope,
  document: VersionColumns,
  { language }: DocumentDetails,
): ReadonlySet<FieldPermission> | null => readableFields(scope, { ...document, language })

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
  details: Omit<DocumentDetails, 'documentId' | 'language'>,
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
function highlightsOf(
  text: ChunkText,
  { query }: SearchResult,
  titleReadable: boolean,
  hits: readonly Hit[],
): string[] {
  const options = { maxFragments: limits.highlightsMax }
  const title = titleReadable ? highlight(text.title ?? '', text.language, query, { maxFragments: 1 }) : []
  const body = hits.length > 0 ? highlight(text.text, text.language, query, options, hits) : []
  return [...title, ...body].slice(0, limits.highlightsMax)
}

const othersOf = ({ others }: FoundDocument) => others.slice(0, limits.chunksPerDocumentMax - 1)

function matchedChunks(
  one: FoundDocument,
  textOf: ReadonlyMap<string, ChunkText>,
  { query }: SearchResult,
  bodyReadable: boolean,
): NonNullable<ResultItem['matched_chunks']> {
  return [one.best, ...othersOf(one)].flatMap(({ chunkId, score }) => {
    const text = textOf.get(chunkId)
    if (text === undefined) return []
    const body = bodyReadable ? { body: summarise(text.text, text.language, query, limits.summaryCharactersMax) } : {}
    return [{ chunk_id: chunkId, chunk_index: text.ordinal, ...body, score }]
  })
}
