import { type FieldPermission, readableFields, type Scope } from '../../access/scope.ts'
import { catalogRows, facetRowOf, opensField } from '../../document/rows.ts'
import { bucketOfDay, dayOf, type Facet, type ValueCount } from '../facets.ts'
import type { ScoredCandidates } from '../fuse/fuse.ts'
import type { Retrieved } from '../retrieve/retrieve.ts'
import type { RunningSearch } from '../running-search.ts'
import type { CatalogColumns, FacetsRequest, IndexedColumns } from '../search-index.ts'
import type { SearchSource } from '../search-source.ts'
import type { Counts, FoundVersion } from '../search-texts.ts'

/** The facets of all matches if the index counted them, otherwise those of the candidates. */
export async function countFacets(
  { request, scope, texts }: RunningSearch,
  retrieved: Retrieved,
  { candidates }: ScoredCandidates,
): Promise<Counts> {
  if (retrieved.facets !== null) return retrieved.facets
  if (request.facets === null || candidates.length === 0) return []
  const found = candidates.map(({ documentId, best }) => ({ documentId, versionId: best.versionId }))
  return texts.count(found, request.facets, scope)
}

/**
 * Counts the candidates of a vector or hybrid search from the columns of the store, by the same rules as the index. The
 * index cannot count them, because no distance separates matches from other documents.
 */
export async function countCandidates(
  source: Pick<SearchSource, 'indexedColumns' | 'versionHeads'>,
  candidates: readonly FoundVersion[],
  { of, limit }: FacetsRequest,
  scope: Scope,
): Promise<ValueCount[][]> {
  const versionOf = new Map(candidates.map(({ documentId, versionId }) => [documentId, versionId]))
  const documents = await source.indexedColumns([...versionOf.keys()])
  const earlier = documents
    .map(({ documentId, currentVersionId }) => ({ found: versionOf.get(documentId)!, currentVersionId }))
    .flatMap(({ found, currentVersionId }) => (found === currentVersionId ? [] : [found]))
  const heads = earlier.length === 0 ? [] : await source.versionHeads(earlier)
  const languageOf = new Map(heads.map(({ versionId, language }) => [versionId, language]))
  const counted = documents.flatMap((document): IndexedColumns[] => {
    const found = versionOf.get(document.documentId)!
    const language = found === document.currentVersionId ? document.language : languageOf.get(found)
    // The document was removed, or is no longer visible, since it was found.
    if (language === undefined || readableFields(scope, { ...document, language }) === null) return []
    return [{ ...document, ...closedColumns(readableFields(scope, document) ?? noFields), language }]
  })
  return of.map((facet) => countFacet(facet, counted).slice(0, limit))
}

const noFields: ReadonlySet<FieldPermission> = new Set()

/** Empty values for the columns that these permissions do not open. */
function closedColumns(fields: ReadonlySet<FieldPermission>): Partial<CatalogColumns> {
  const closed = catalogRows.filter((row) => !opensField(row, fields))
  return Object.fromEntries(closed.map(({ property, kind }) => [property, kind === 'texts' ? [] : null]))
}

function countFacet(facet: Facet, documents: readonly IndexedColumns[]): ValueCount[] {
  const counts = new Map<string, number>()
  for (const document of documents) {
    for (const value of new Set(valuesIn(document, facet))) {
      if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1)
    }
  }
  return [...counts]
    .map(([value, count]) => ({ value, count }))
    .sort((a, b) => b.count - a.count || Buffer.compare(Buffer.from(a.value), Buffer.from(b.value)))
}

function valuesIn(document: IndexedColumns, facet: Facet): readonly (string | null)[] {
  if (typeof facet === 'object') {
    const day = dayOf(document.publishedAt ?? Number.NaN)
    return [Number.isNaN(day) ? null : bucketOfDay(day, facet.published_at)]
  }
  const value = document[facetRowOf(facet).property as keyof IndexedColumns]
  return Array.isArray(value) ? value : [value as string | null]
}
