import { type FieldPermission, readableFields, type Scope } from '../../access/scope.ts'
import type { ResultFieldsFrom } from '../../document/field-types.ts'
import type { FieldKind } from '../../document/fields.ts'
import { opensField, resultRows } from '../../document/rows.ts'
import { formatOptionalTime } from '../../platform/time.ts'
import { findHits, type Hit } from '../../text/find-hits.ts'
import { highlight, summarise } from '../../text/highlight.ts'
import type { LocatedText } from '../../text/types.ts'
import { IdMap } from '../id-map.ts'
import { searchLimits as limits } from '../limits.ts'
import type { VersionColumns } from '../search-index.ts'
import type { ChunkText, DocumentDetails, SearchSource, ShownChunk } from '../search-source.ts'
import type { FoundPage, PresentedPage } from '../search-texts.ts'
import type { FoundDocument } from './found-document.ts'
import type { ResultField } from './result-fields.ts'
import type { ResultItem } from './result-item.ts'

/**
 * Results in the form of the API, with the requested fields that the entitlements open. `locatedIn` contains the
 * query's words in chunks that were already analysed.
 */
export async function presentResults(
  source: Pick<SearchSource, 'shownChunks'>,
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
    // Since the search, the document was removed or became invisible.
    if (text === undefined || readable === null) return []
    const { document, details } = text
    const showsTitle = fields.has('title') && readable.has('title')
    const showsBody = fields.has('body') && readable.has('body')
    // Located once, for the summary and the highlights.
    const located = locatedIn.get(one.best.chunkId) ?? null
    const isRead = showsBody && (page.highlights || located !== null)
    const hits = isRead ? findHits(text.text, text.language, page.query, located) : undefined
    const item = makeResult(fields, readable, {
      found: one,
      document,
      title: text.title,
      details,
      detailsReadable: details && detailsReadable(details, document, readable, scope),
      body: showsBody ? summarise(text.text, text.language, page.query, limits.summaryCharactersMax, hits) : '',
      origin: 'indexed',
    })
    if (page.highlights) item.highlights = highlightsOf(text, page, showsTitle, hits ?? [])
    if (page.chunks) item.matched_chunks = matchedChunks(one, textOf, page, showsBody)
    return [item]
  })
  return { results }
}

type ResultRow = (typeof resultRows)[number] & { readonly name: ResultField }
const rowsFrom = (from: ResultRow['result']['from']) =>
  resultRows.filter(({ result }) => result.from === from) as ResultRow[]
const columnRows = rowsFrom('columns')
const detailRows = rowsFrom('details')

/** Everything that a result can show. */
interface Shown {
  readonly found: Omit<FoundDocument, 'others'>
  readonly document: VersionColumns
  readonly title: string | null
  /** Null if the details were not read. */
  readonly details: Omit<DocumentDetails, 'language'> | null
  /** The permissions that open the details; null if none does. */
  readonly detailsReadable: ReadonlySet<FieldPermission> | null
  /** The part of the body that is shown. */
  readonly body: string
  readonly origin: ResultItem['origin']
}

/** A result with the requested fields that may be read. Every result of every kind is made here. */
export function makeResult(
  fields: ReadonlySet<ResultField>,
  readable: ReadonlySet<FieldPermission>,
  { found, document, title, details, detailsReadable, body, origin }: Shown,
): ResultItem {
  return {
    document_id: found.documentId,
    version_id: found.best.versionId,
    best_chunk_id: found.best.chunkId,
    ...describeDocument(document, fields),
    ...(fields.has('title') && readable.has('title') ? { title } : {}),
    ...(details === null ? {} : describeDetails(details, fields, detailsReadable)),
    ...(fields.has('body') && readable.has('body') ? { body } : {}),
    origin,
    score: found.score,
    ...(fields.has('keyword_score') ? { keyword_score: found.keywordScore } : {}),
    ...(fields.has('vector_score') ? { vector_score: found.vectorScore } : {}),
    ...(fields.has('rerank_score') ? { rerank_score: found.rerankScore } : {}),
    ...(found.explanation === null ? {} : { explanation: found.explanation }),
  }
}

/** Whether these fields include details of the document, which need an additional read. */
export const showsDetails = (fields: ReadonlySet<ResultField>): boolean =>
  detailRows.some(({ name }) => fields.has(name))

/**
 * The permissions for the details, such as author, topics and tags. These belong to the current document, so the
 * permissions for it decide, not those for an earlier version that was found. The two can only differ by language. Null
 * if the current document may not be read.
 */
const detailsReadable = (
  { language }: DocumentDetails,
  document: VersionColumns,
  readable: ReadonlySet<FieldPermission>,
  scope: Scope,
): ReadonlySet<FieldPermission> | null =>
  language === document.language ? readable : readableFields(scope, { ...document, language })

/** The requested columns. They need no permission. */
function describeDocument(
  columns: VersionColumns,
  fields: ReadonlySet<ResultField>,
): Pick<ResultItem, ResultFieldsFrom<'columns'>> {
  const shown: Record<string, unknown> = {}
  for (const { name, property, kind } of columnRows) {
    if (fields.has(name)) shown[name] = formatValue(kind, columns[property as keyof VersionColumns])
  }
  return shown as ReturnType<typeof describeDocument>
}

/** The requested details that may be read. The ID on the platform needs no permission. */
function describeDetails(
  details: Omit<DocumentDetails, 'language'>,
  fields: ReadonlySet<ResultField>,
  readable: ReadonlySet<FieldPermission> | null,
): Pick<ResultItem, ResultFieldsFrom<'details'>> {
  const shown: Record<string, unknown> = {}
  for (const row of detailRows) {
    const isOpen = row.name === 'external_id' || (readable !== null && opensField(row, readable))
    if (fields.has(row.name) && isOpen)
      shown[row.name] = formatValue(row.kind, details[row.property as keyof typeof details])
  }
  return shown as ReturnType<typeof describeDetails>
}

function formatValue(kind: FieldKind, value: unknown): unknown {
  if (kind === 'time') return formatOptionalTime(value as number | null)
  if (kind === 'texts') return [...(value as readonly string[])]
  if (kind !== 'author' || value === null) return value
  const { externalAuthorId, nickname } = value as NonNullable<DocumentDetails['author']>
  return { external_author_id: externalAuthorId, nickname }
}

/** The title, if it has a hit, and then the best fragments of the chunk. Uses only fields that may be shown. */
function highlightsOf(text: ChunkText, { query }: FoundPage, showsTitle: boolean, hits: readonly Hit[]): string[] {
  const options = { maxFragments: limits.highlightsMax }
  const title = showsTitle ? highlight(text.title ?? '', text.language, query, { maxFragments: 1 }) : []
  const body = hits.length > 0 ? highlight(text.text, text.language, query, options, hits) : []
  return [...title, ...body].slice(0, limits.highlightsMax)
}

function matchedChunks(
  one: FoundDocument,
  textOf: Pick<IdMap<ChunkText>, 'get'>,
  { query }: FoundPage,
  showsBody: boolean,
): NonNullable<ResultItem['matched_chunks']> {
  return [one.best, ...one.others].flatMap(({ chunkId, score }) => {
    const text = textOf.get(chunkId)
    if (text === undefined) return []
    const body = showsBody ? { body: summarise(text.text, text.language, query, limits.summaryCharactersMax) } : {}
    return [{ chunk_id: chunkId, chunk_index: text.ordinal, ...body, score }]
  })
}
