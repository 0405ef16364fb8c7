/**
 * What a request may read, as every reader applies it.
 *
 * A scope is a union of entries. A document is visible when at least one entry matches it in everything
 * (dataset, platform, language, region, publication time); its readable fields are the union of the fields of the
 * entries that match it. Nothing outside `compile-scope.ts` makes a scope, and no reader widens one.
 *
 * A version is readable by its own language, or by the document's where it has none, and by its document in all else: an
 * earlier text in another language is as hidden as a document in that language, and the current one may be hidden where
 * an earlier one is not.
 */

/** The field permissions an entitlement entry can grant. Everything else of a document comes with any entry. */
export const fieldPermissions = ['title', 'body', 'author', 'metadata', 'facts', 'metrics'] as const
export type FieldPermission = (typeof fieldPermissions)[number]

/** `null` means "any". Times are milliseconds since 1970, `publishedFrom` inclusive, `publishedTo` exclusive. */
export interface ScopeEntry {
  readonly datasets: readonly string[]
  readonly platforms: readonly string[] | null
  readonly languages: readonly string[] | null
  readonly regions: readonly string[] | null
  readonly publishedFrom: number | null
  readonly publishedTo: number | null
  readonly fields: readonly FieldPermission[]
}

export interface Scope {
  readonly entries: readonly ScopeEntry[]
}

/** The part of a document, or of one of its versions, that decides who may see it. */
export interface ScopedDocument {
  readonly datasetId: string
  readonly platform: string
  readonly language: string | null
  readonly region: string | null
  readonly publishedAt: number | null
}

/** The language that a version is readable by. */
export const versionLanguage = (own: string | null, ofDocument: string | null): string | null => own ?? ofDocument

/** An entry that restricts languages, regions or times never matches a document that lacks that value. */
function entryMatches(entry: ScopeEntry, document: ScopedDocument): boolean {
  if (!entry.datasets.includes(document.datasetId)) return false
  if (entry.platforms !== null && !entry.platforms.includes(document.platform)) return false
  if (entry.languages !== null && (document.language === null || !entry.languages.includes(document.language)))
    return false
  if (entry.regions !== null && (document.region === null || !entry.regions.includes(document.region))) return false
  if (entry.publishedFrom === null && entry.publishedTo === null) return true
  if (document.publishedAt === null) return false
  if (entry.publishedFrom !== null && document.publishedAt < entry.publishedFrom) return false
  return entry.publishedTo === null || document.publishedAt < entry.publishedTo
}

/** The fields of one document that the scope opens; `null` when the document is not visible at all. */
export function readableFields(scope: Scope, document: ScopedDocument): ReadonlySet<FieldPermission> | null {
  const [first, ...others] = scope.entries.filter((entry) => entryMatches(entry, document))
  if (first === undefined) return null
  return others.length === 0 ? fieldsOf(first) : new Set([first, ...others].flatMap((entry) => entry.fields))
}

/** Of an entry, made once: hundreds of documents of a search are open by the same one. */
function fieldsOf(entry: ScopeEntry): ReadonlySet<FieldPermission> {
  let fields = fieldSets.get(entry)
  if (fields === undefined) {
    fields = new Set(entry.fields)
    fieldSets.set(entry, fields)
  }
  return fields
}
const fieldSets = new WeakMap<ScopeEntry, ReadonlySet<FieldPermission>>()
