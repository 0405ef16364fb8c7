import { type RawBuilder, sql } from 'kysely'
import type { Scope, ScopeEntry } from '../../access/scope.ts'
import type { BrowseQuery } from '../../catalog/catalog-store.ts'
import { termKinds } from './document-rows.ts'

/**
 * The conditions of a listing as SQL. `row` is the alias of the document. `key` is the alias of the table whose index
 * is walked; it has `dataset_id` and `document_id` too, so that a term can be tested before the document is fetched.
 *
 * Each test has the form "… is true", which no database uses to choose an index. `browse-ids.ts` chooses the index; a
 * planner without statistics might otherwise scan every active document.
 */
type Fragment = RawBuilder<unknown>

/**
 * A term condition with up to this many values is looked up in the index of terms, value by value. With more values it
 * is checked on the document's own list.
 */
const soughtMax = 8

/** The kinds of terms that a listing filters by, with their values. */
export function termConditions(query: BrowseQuery): [kind: number, values: readonly string[]][] {
  const conditions: [number, readonly string[]][] = []
  if (query.classifications !== null) conditions.push([termKinds.classification, query.classifications])
  if (query.tags !== null) conditions.push([termKinds.tag, query.tags])
  if (query.topics !== null) conditions.push([termKinds.topic, query.topics])
  return conditions
}

const termColumns = {
  [termKinds.topic]: 'topics',
  [termKinds.tag]: 'tags',
  [termKinds.classification]: 'classifications',
} as const
export type TermColumn = (typeof termColumns)[keyof typeof termColumns]

/** The list conditions that the SQL statement does not test and that must be checked on the documents found. */
export function listConditions(
  query: BrowseQuery,
  settled: number | null,
): { readonly column: TermColumn; readonly values: ReadonlySet<string> }[] {
  return termConditions(query)
    .filter(([kind, values]) => kind !== settled && values.length > soughtMax)
    .map(([kind, values]) => ({ column: termColumns[kind as keyof typeof termColumns], values: new Set(values) }))
}

/** `settled` is the kind of term that the walked lanes already guarantee. */
export function rowConditions(query: BrowseQuery, row: string, key: string, settled: number | null): Fragment {
  const tests = termConditions(query)
    .filter(([kind, values]) => kind !== settled && values.length <= soughtMax)
    .map(([kind, values]) => hasTerm(key, kind, values))
  // A test of its own and early, so that walking the score index can decide before the document is fetched.
  if (query.scoreMin !== null) tests.push(sql`${sql.ref(`${row}.score`)} >= ${wholeNumber(query.scoreMin)}`)
  if (query.scoreMax !== null) tests.push(sql`${sql.ref(`${row}.score`)} <= ${wholeNumber(query.scoreMax)}`)
  tests.push(documentTest(query, row))
  return sql.join(
    tests.map((test) => sql`(${test}) is true`),
    sql` and `,
  )
}

/**
 * Scores are whole numbers that JSON holds exactly. A bound outside of that range may be too large for the database.
 */
const wholeNumber = (bound: number): number =>
  Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, bound))

function hasTerm(key: string, kind: number, values: readonly string[]): Fragment {
  return sql`exists (select 1 from document_term as other where other.kind = ${sql.lit(kind)} and other.value in (${sql.join(values)}) and other.dataset_id = ${sql.ref(`${key}.dataset_id`)} and other.document_id = ${sql.ref(`${key}.document_id`)})`
}

function documentTest(query: BrowseQuery, row: string): Fragment {
  const tests: Fragment[] = []
  const test = (column: string, operator: string, value: string | number | null): void => {
    if (value !== null) tests.push(sql`${sql.ref(`${row}.${column}`)} ${sql.raw(operator)} ${value}`)
  }
  if (query.contentTypes !== null) tests.push(isOneOf(row, 'content_type', query.contentTypes))
  test('external_author_id', '=', query.externalAuthorId)
  test('status', '=', query.status)
  test('published_at', '>=', query.publishedFrom)
  test('published_at', '<', query.publishedTo)
  tests.push(scopeTest(query.scope, row))
  return sql.join(tests, sql` and `)
}

/** True for documents that the scope opens. Never called for a scope without entries, which opens none. */
function scopeTest(scope: Scope, row: string, language: Fragment = sql.ref(`${row}.language`)): Fragment {
  const entries = scope.entries.map((entry) => sql`(${entryTest(entry, row, language)})`)
  return sql`(${sql.join(entries, sql` or `)})`
}

export const isDocumentOpen = (scope: Scope, document: string): RawBuilder<boolean> =>
  sql<boolean>`(${scopeTest(scope, document)}) is true`

/** True for versions that the scope opens, by their own language or, if they have none, by the document's. */
export const isVersionOpen = (scope: Scope, version: string, document: string): RawBuilder<boolean> => {
  const language = sql`coalesce(${sql.ref(`${version}.language`)}, ${sql.ref(`${document}.language`)})`
  return sql<boolean>`${scopeTest(scope, document, language)}`
}

function entryTest(entry: ScopeEntry, row: string, language: Fragment): Fragment {
  const tests = [isOneOf(row, 'dataset_id', entry.datasets)]
  if (entry.platforms !== null) tests.push(isOneOf(row, 'source_platform', entry.platforms))
  if (entry.languages !== null) tests.push(sql`${language} in (${sql.join(entry.languages)})`)
  if (entry.regions !== null) tests.push(isOneOf(row, 'region', entry.regions))
  if (entry.publishedFrom !== null) tests.push(sql`${sql.ref(`${row}.published_at`)} >= ${entry.publishedFrom}`)
  if (entry.publishedTo !== null) tests.push(sql`${sql.ref(`${row}.published_at`)} < ${entry.publishedTo}`)
  return sql.join(tests, sql` and `)
}

const isOneOf = (row: string, column: string, values: readonly string[]): Fragment =>
  sql`${sql.ref(`${row}.${column}`)} in (${sql.join(values)})`
