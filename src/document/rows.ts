import type { Conditions, FacetName, ListedName, NumberRange } from './field-types.ts'
import { type DocumentField, documentFields, type FieldFilter, type FieldPermission, keptColumns } from './fields.ts'

/** A row of the table of fields, with its name. */
export interface FieldRow extends DocumentField {
  readonly name: string
  /** The column of table `document`; null if the table has none. */
  readonly column: string | null
}

const rowsOf = (table: Readonly<Record<string, DocumentField>>): readonly FieldRow[] =>
  Object.entries(table).map(([name, field]) => ({
    ...field,
    name,
    column: field.column === undefined ? name : field.column,
  }))

export const fieldRows = rowsOf(documentFields)

/** A row that has a column. */
export interface ColumnRow extends FieldRow {
  readonly column: string
}

const hasColumn = (row: FieldRow): row is ColumnRow => row.column !== null

export const fieldColumns = fieldRows.filter(hasColumn)
export const documentColumns = [...fieldColumns, ...rowsOf(keptColumns).filter(hasColumn)]

/** The fields of the document object. */
export const answerRows = fieldRows.flatMap((row) => (row.answer === undefined ? [] : { ...row, answer: row.answer }))

/** The fields of search results. */
export const resultRows = fieldRows.flatMap((row) => (row.result === undefined ? [] : { ...row, result: row.result }))

/** The columns of the search index that belong to the document and not to its chunks. */
export const catalogRows = documentColumns.filter(({ indexed }) => indexed === 'catalog')

/** A row whose field has a filter. */
export interface FilterRow extends ColumnRow {
  readonly filter: FieldFilter
}
export const filterRows = documentColumns.filter((row): row is FilterRow => row.filter !== undefined)

/** The condition on a field; undefined if the request has none. */
export const conditionOf = (
  conditions: Conditions,
  { property }: FilterRow,
): readonly string[] | NumberRange | undefined =>
  (conditions as Readonly<Record<string, readonly string[] | NumberRange>>)[property]

/** A row whose field is a facet. */
export interface FacetRow extends ColumnRow {
  readonly facet: string
}
export const facetRows = documentColumns.filter((row): row is FacetRow => row.facet !== undefined)
const facetRowByName: ReadonlyMap<string, FacetRow> = new Map(facetRows.map((row) => [row.facet, row]))
export const facetNames = facetRows.map(({ facet }) => facet) as readonly FacetName[]
export const listedNames = facetRows.flatMap(({ facet, isListed }) =>
  isListed ? [facet] : [],
) as readonly ListedName[]
export const facetRowOf = (name: FacetName): FacetRow => facetRowByName.get(name)!

export const isJson = ({ kind }: FieldRow): boolean => jsonKinds.has(kind)
const jsonKinds: ReadonlySet<string> = new Set(['texts', 'author', 'object', 'numbers', 'facts'])

/** Whether these permissions open the field. */
export const opensField = (
  { openedBy }: Pick<DocumentField, 'openedBy'>,
  permissions: ReadonlySet<FieldPermission>,
): boolean => openedBy === undefined || openedBy.some((permission) => permissions.has(permission))
