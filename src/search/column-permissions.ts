import type { Scope } from '../access/scope.ts'
import { documentFields, type FieldPermission } from '../document/fields.ts'
import { type ColumnRow, catalogRows, facetRowOf, opensField } from '../document/rows.ts'
import type { Facet } from './facets.ts'

/** A column of the index that needs a permission. Any one of `openedBy` is enough. */
export interface GuardedColumn extends ColumnRow {
  readonly openedBy: readonly FieldPermission[]
}

const isGuarded = (row: ColumnRow): row is GuardedColumn => row.openedBy !== undefined

/** The column that a facet counts; null if it needs no permission. */
export function columnOf(facet: Facet): GuardedColumn | null {
  const row = typeof facet === 'string' ? facetRowOf(facet) : null
  return row !== null && isGuarded(row) ? row : null
}

/** The column that `-score` sorts by. */
export const scoreRow = catalogRows
  .filter(isGuarded)
  .find(({ property }) => property === documentFields.score.property)!

/** The entries that grant a permission for the column. */
export const entriesOpening = (column: ColumnRow, { entries }: Scope): Scope['entries'] =>
  entries.filter(({ fields }) => opensField(column, new Set(fields)))
