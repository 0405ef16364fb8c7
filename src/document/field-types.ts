import type { DocumentField, documentFields, FieldValues, keptColumns } from './fields.ts'

/** Types derived from the table of fields. A mapped type that omits a field has no property for it. */
export type Fields = typeof documentFields
export type FieldName = keyof Fields
type Kept = Fields & typeof keptColumns
type KeptName = keyof Kept

/** The fields whose row has this property. */
export type FieldsWith<Said extends keyof DocumentField> = {
  [Name in FieldName]: Said extends keyof Fields[Name] ? Name : never
}[FieldName]

/** The fields that results show, read from columns or as details. */
export type ResultFieldsFrom<From extends 'columns' | 'details'> = {
  [Name in FieldName]: Fields[Name] extends { result: { from: From } } ? Name : never
}[FieldName]

type Value<Name extends KeptName> = FieldValues[Kept[Name]['kind']]
type IfKnown<Name extends KeptName, Value> = Kept[Name] extends { required: true } ? Value : Value | null
type IsJson<Name extends KeptName> = Value<Name> extends string | number ? false : true

/** Joins several object types into one, which is easier to read in compiler messages. */
type Flat<Type> = { [Key in keyof Type]: Type[Key] }

/**
 * A checked document as a collector sent it. An undefined field was not sent, and its stored value stays. Null removes
 * the value.
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

/** A stored document. Lists and objects are JSON texts, null if they are empty, so that they can be compared. */
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

/** A field as it is read for answers: an empty list stays a list. */
export type ReadValue<Name extends KeptName> = Kept[Name]['kind'] extends 'texts'
  ? Value<Name>
  : IfKnown<Name, Value<Name>>

/** The fields of a document that answers show, under our names. */
export type AnsweredValues = {
  readonly [Name in FieldsWith<'answer'> as Fields[Name]['property']]: ReadValue<Name>
}

/** The details that a result shows of its document, beside its texts and columns. */
export type DetailValues = {
  readonly [Name in ResultFieldsFrom<'details'> as Fields[Name]['property']]: Name extends 'author'
    ? { readonly externalAuthorId: string | null; readonly nickname: string | null } | null
    : ReadValue<Name>
}

export type IndexedFields<As extends 'columns' | 'catalog'> = {
  [Name in FieldName]: Fields[Name] extends { indexed: As } ? Name : never
}[FieldName]

/** The columns that scopes and filters read. */
export type ColumnValues = {
  readonly [Name in IndexedFields<'columns'> as Fields[Name]['property']]: ReadValue<Name>
}
