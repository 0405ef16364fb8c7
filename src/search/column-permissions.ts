import type { FieldPermission, Scope } from '../access/scope.ts'
import { documentFields } from '../document/fields.ts'
import type { Facet } from './facets.ts'

/** The catalog columns of a document, and the field permissions that open each: any one of them. */
export const columnPermissions = {
  author: documentFields.author.openedBy,
  topics: documentFields.topics.openedBy,
  tags: documentFields.tags.openedBy,
  classifications: documentFields.classifications.openedBy,
  score: documentFields.score.openedBy,
} as const satisfies Record<string, readonly FieldPermission[]>
export type CatalogColumn = keyof typeof columnPermissions

/** The catalog column that a facet counts; null if it counts something that comes with every document. */
export const columnOf = (facet: Facet): CatalogColumn | null =>
  typeof facet === 'string' && facet in columnPermissions ? (facet as CatalogColumn) : null

export const opens = (fields: ReadonlySet<FieldPermission> | readonly FieldPermission[], column: CatalogColumn) => {
  const granted = new Set(fields)
  return columnPermissions[column].some((permission) => granted.has(permission))
}

/** The entries that open a column. */
export const entriesOpening = (column: CatalogColumn, { entries }: Scope): Scope['entries'] =>
  entries.filter(({ fields }) => opens(fields, column))
