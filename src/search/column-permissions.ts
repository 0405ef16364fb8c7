import type { FieldPermission, Scope } from '../access/scope.ts'
import type { Facet } from './facets.ts'

/** What the catalog knows of a document, and which field permissions open it: any one of them. */
export const columnPermissions = {
  author: ['author', 'metadata'],
  topics: ['metadata'],
  tags: ['metadata'],
  classifications: ['facts'],
  score: ['metrics'],
} as const satisfies Record<string, readonly FieldPermission[]>
export type CatalogColumn = keyof typeof columnPermissions

/** The column of the catalog that a facet counts; null where it counts what comes with every document. */
export const columnOf = (facet: Facet): CatalogColumn | null =>
  typeof facet === 'string' && facet in columnPermissions ? (facet as CatalogColumn) : null

export const opens = (fields: ReadonlySet<FieldPermission> | readonly FieldPermission[], column: CatalogColumn) => {
  const granted = new Set(fields)
  return columnPermissions[column].some((permission) => granted.has(permission))
}

/** The entries that open a column. */
export const entriesOpening = (column: CatalogColumn, { entries }: Scope): Scope['entries'] =>
  entries.filter(({ fields }) => opens(fields, column))
