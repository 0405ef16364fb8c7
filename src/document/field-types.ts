import type { DocumentField, documentFields, FieldValues, keptColumns } from './fields.ts'

/** Types derived from the table of fields. A mapped type that omits a field has no property for it. */
export type Fields = typeof documentFields
export type FieldName = keyof Fields
type Kept = Fields & typeof keptColumns
type KeptName = keyof Kept

/** The fields whose row has this property. */
export type FieldsWith<Property extends keyof DocumentField> = {
  [Name in FieldName]: Property extends keyof Fields[Name] ? Name : never
}[FieldName]

/** The fields of search results that are read from columns, or as details. */
export type ResultFieldsFrom<From extends 'columns' | 'details'> = {
  [Name in FieldName]: Fields[Name] extends { result: { from: From } } ? Name : never
}[FieldName]

type Value<Name extends KeptName> = FieldValues[Kept[Name]['kind']]
type IfKnown<Name extends KeptName, Value> = Kept[Name] extends { required: true } ? Value : Value | null
type IsJson<Name extends KeptName> = Value<Name> extends string | number ? false : true

/** Joins several object types into one, which is easier to read in compiler messages. */
type Flat<Type> = { [Key in keyof Type]: Type[Key] }

/**
 * A validated document from a collector. An undefined field was not sent and keeps its stored value. Null removes the
 * value.
 */
export type IncomingDocument = Flat<
  {
    readonly [Name in IdentityName as Fields[Name]['property']]: Value<Name>
  } & {
    readonly [Name in Exclude<FieldsWith<'input'>, IdentityName> as Fields[Name]['property']]?: IfKnown<
      Name,
      Value<Name>
    >
  }
>
/** The fields that identify a document. They never change. */
type IdentityName = Exclude<FieldsWith<'input'>, FieldsWith<'change'>>

type ColumnName<Name extends KeptName> = Kept[Name] extends { column: infer Column }
  ? Column extends string
    ? Column
    : never
  : Name

/** A stored document. Lists and objects are JSON texts, or null if they are empty, so that they can be compared. */
export type KnownDocument = {
  [Name in KeptName as ColumnName<Name> extends never ? never : Kept[Name]['property']]: IfKnown<
    Name,
    IsJson<Name> extends true ? string : Value<Name>
  >
}

/** A row of table `document`. */
export type DocumentRow = {
  [Name in KeptName as ColumnName<Name>]: IfKnown<Name, Value<Name> extends number ? number : string>
}

/** The type of a field that is read for answers. An empty list is a list, not null. */
export type ReadValue<Name extends KeptName> = Kept[Name]['kind'] extends 'texts'
  ? Value<Name>
  : IfKnown<Name, Value<Name>>

/** The fields of the document object in answers, by property. */
export type AnsweredValues = {
  readonly [Name in FieldsWith<'answer'> as Fields[Name]['property']]: ReadValue<Name>
}

/** The details of a document that results show in addition to its texts and columns. */
export type DetailValues = {
  readonly [Name in ResultFieldsFrom<'details'> as Fields[Name]['property']]: Name extends 'author'
    ? { readonly externalAuthorId: string | null; readonly nickname: string | null } | null
    : ReadValue<Name>
}

export type IndexedFields<As extends 'columns' | 'catalog'> = {
  [Name in KeptName]: Kept[Name] extends { indexed: As } ? Name : never
}[KeptName]

/** The columns that scopes and filters read. */
export type ColumnValues = {
  readonly [Name in IndexedFields<'columns'> as Kept[Name]['property']]: ReadValue<Name>
}

/** The columns that keyword searches also filter, sort and count by. */
export type CatalogValues = {
  readonly [Name in IndexedFields<'catalog'> as Kept[Name]['property']]: ReadValue<Name>
}

/** Both bounds are inclusive; null is no bound. */
export interface NumberRange {
  readonly min: number | null
  readonly max: number | null
}

/**
 * The conditions of a listing or keyword search, by property. A document must meet all of them, each with one of the
 * values. A document without a value does not meet a condition on it.
 */
export type Conditions = {
  readonly [Name in FilteredName as Kept[Name]['property']]?: Value<Name> extends number
    ? NumberRange
    : readonly string[]
}
type FilteredName = { [Name in KeptName]: Kept[Name] extends { filter: object } ? Name : never }[KeptName]

/** The names of facets. */
export type FacetName = { [Name in KeptName]: Kept[Name] extends { facet: infer Facet } ? Facet : never }[KeptName]
export type ListedName = {
  [Name in KeptName]: Kept[Name] extends { facet: infer Facet; isListed: true } ? Facet : never
}[KeptName]
