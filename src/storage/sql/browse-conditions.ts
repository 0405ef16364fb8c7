import { type RawBuilder, sql } from 'kysely'
import type { Scope, ScopeEntry } from '../../access/scope.ts'
import type { BrowseQuery } from '../../catalog/catalog-store.ts'
import type { Conditions, NumberRange } from '../../document/field-types.ts'
import { conditionOf, type FilterRow, filterRows } from '../../document/rows.ts'

/**
 * The conditions of a listing as SQL. `row` is the alias of the document. `key` is the alias of the table whose index
 * is scanned. Both have `dataset_id` and `document_id`, so that a term can be tested before the document is fetched.
 *
 * Each test has the form "… is true", which no database uses to choose an index. `browse-ids.ts` chooses the index,
 * because a planner without statistics might scan every active document.
 */
type Fragment = RawBuilder<unknown>

/**
 * A term condition with up to this many values is looked up in the index of terms, value by value. With more values it
 * is checked on the document's own list.
 */
const lookedUpMax = 8

/** A condition that is met by any one of several texts. */
export interface TextsCondition {
  readonly row: FilterRow
  readonly values: readonly string[]
}

const textsConditions = ({ conditions }: BrowseQuery): TextsCondition[] =>
  filterRows.flatMap((row) => {
    const values = conditionOf(conditions, row)
    return values === undefined || 'min' in values ? [] : [{ row, values }]
  })

/** The conditions on terms. */
export const termConditions = (query: BrowseQuery): TextsCondition[] =>
  textsConditions(query).filter(({ row }) => row.filter.term !== undefined)

/** The conditions that the SQL statement does not test and that must be checked on the documents found. */
export const listConditions = (query: BrowseQuery, guaranteed: number | null): ListCondition[] =>
  termConditions(query)
    .filter(({ row, values }) => row.filter.term !== guaranteed && values.length > lookedUpMax)
    .map(({ row, values }) => ({ row, values: new Set(values) }))

export interface ListCondition {
  readonly row: FilterRow
  readonly values: ReadonlySet<string>
}

/** The interval of a number; undefined if the request has none. */
const rangeOf = (conditions: Conditions, row: FilterRow): NumberRange | undefined => {
  const condition = conditionOf(conditions, row)
  return condition !== undefined && 'min' in condition ? condition : undefined
}

/** `guaranteed` is the kind of term that the scanned lanes already guarantee; null for none. */
export function rowConditions(query: BrowseQuery, row: string, key: string, guaranteed: number | null): Fragment {
  const tests = termConditions(query)
    .filter(({ row: { filter }, values }) => filter.term !== guaranteed && values.length <= lookedUpMax)
    .map(({ row: { filter }, values }) => hasTerm(key, filter.term!, values))
  // Separate tests at the start, so that a scan of the score index can apply them before it fetches the document.
  for (const field of filterRows) {
    const { min = null, max = null } = rangeOf(query.conditions, field) ?? {}
    if (min !== null) tests.push(sql`${sql.ref(`${row}.${field.column}`)} >= ${wholeNumber(min)}`)
    if (max !== null) tests.push(sql`${sql.ref(`${row}.${field.column}`)} <= ${wholeNumber(max)}`)
  }
  tests.push(documentTest(query, row))
  return sql.join(
    tests.map((test) => sql`(${test}) is true`),
    sql` and `,
  )
}

/**
 * Clamps a bound to the safe integers. All stored numbers are safe integers, and a larger bound may be too large for
 * the database.
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
  for (const { row: field, values } of textsConditions(query)) {
    if (field.filter.term === undefined) tests.push(isOneOf(row, field.column, values))
  }
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
