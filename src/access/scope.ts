import type { FieldPermission } from '../document/fields.ts'

export { type FieldPermission, fieldPermissions } from '../document/fields.ts'

/**
 * A scope: the documents and fields that a request may read.
 *
 * A scope is a union of entries. A document is visible when at least one entry matches it in every dimension (dataset,
 * platform, language, region, publication time). Its readable fields are the union of the fields of the matching
 * entries. Only `compile-scope.ts` makes a scope, and no reader widens one.
 *
 * A version is checked with its own language, or with that of the document if it has none. All other values are those
 * of the document. So an earlier version in a hidden language is hidden, and the current version may be hidden while an
 * earlier one is not.
 */

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

/** Returns the language that decides who may read a version. */
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

/** Returns the fields of a document that the scope opens; `null` if the document is not visible. */
export function readableFields(scope: Scope, document: ScopedDocument): ReadonlySet<FieldPermission> | null {
  const [first, ...others] = scope.entries.filter((entry) => entryMatches(entry, document))
  if (first === undefined) return null
  return others.length === 0 ? fieldsOf(first) : new Set([first, ...others].flatMap((entry) => entry.fields))
}

/** Returns the fields of an entry. The set is cached, because one entry opens hundreds of documents of a search. */
function fieldsOf(entry: ScopeEntry): ReadonlySet<FieldPermission> {
  let fields = fieldSets.get(entry)
  if (fields === undefined) {
    fields = new Set(entry.fields)
    fieldSets.set(entry, fields)
  }
  return fields
}
const fieldSets = new WeakMap<ScopeEntry, ReadonlySet<FieldPermission>>()
