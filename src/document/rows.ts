import { type DocumentField, documentFields, type FieldPermission, keptColumns } from './fields.ts'

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

/** The fields of results that come from the table. */
export const resultRows = fieldRows.flatMap((row) => (row.result === undefined ? [] : { ...row, result: row.result }))

export const isJson = ({ kind }: FieldRow): boolean => jsonKinds.has(kind)
const jsonKinds: ReadonlySet<string> = new Set(['texts', 'author', 'object', 'numbers', 'facts'])

/** Whether a reader with these permissions may read the field. */
export const opensField = (
  { openedBy }: Pick<DocumentField, 'openedBy'>,
  permissions: ReadonlySet<FieldPermission>,
): boolean => openedBy === undefined || openedBy.some((permission) => permissions.has(permission))
