import type { FieldsWith } from '../document/field-types.ts'
import type { FieldKind } from '../document/fields.ts'
import { answerRows } from '../document/rows.ts'

/**
 * The port: a copy of the documents that an application may read. A row is a document as batch-get returns it, with the
 * text of its current version. A field that may not be read is null.
 */
export interface Copy {
  /** The position that was saved last; null for an empty copy. */
  position(): Promise<CopyPosition | null>
  /** Saves data and position in one transaction. Resolves once they are on disk. */
  save(step: SavedStep): Promise<void>
  /** Returns the documents that follow an id, in the order of ids. */
  after(id: string, most: number): Promise<readonly CopiedDocument[]>
  read(ids: readonly string[]): Promise<readonly CopiedDocument[]>
  /** How many changes to save together. More if saving is expensive. */
  readonly changesAtOnce: number
  close(): Promise<void>
}

/** How far a mirror has read the export and the feed. Stored with the copy. */
export interface CopyPosition {
  /** The application of the copy, and a digest of its entitlements when the export began. */
  readonly applicationId: string
  readonly entitlements: string
  /** The next cursor of an export in progress, and the last document before it. Null and empty at the start. */
  readonly exportCursor: string | null
  readonly exportedThrough: string
  /** The next cursor of the feed; null until the export is complete. */
  readonly changesCursor: string | null
}

export interface SavedStep {
  readonly documents: readonly CopiedDocument[]
  readonly gone: readonly string[]
  /**
   * `documents` are all documents between two ids; the copy removes its other documents in that range. A `through` of
   * null means the end.
   */
  readonly covers?: { readonly after: string; readonly through: string | null }
  readonly position: CopyPosition
}

/**
 * The columns with their types, in the order of the table. Times and JSON are texts here; a copy may store them in its
 * own types.
 */
const kinds = {
  text: 'text',
  status: 'text',
  time: 'time',
  integer: 'number',
  number: 'number',
  texts: 'json',
  author: 'json',
  object: 'json',
  numbers: 'json',
  facts: 'json',
} as const satisfies Readonly<Record<FieldKind, ColumnKind>>

export const columns = {
  ...Object.fromEntries(answerRows.map(({ name, kind }) => [name, kinds[kind]])),
  version_id: 'text',
  version_title: 'text',
  body: 'text',
} as Readonly<Record<Column, ColumnKind>>

export type ColumnKind = 'text' | 'time' | 'json' | 'number'
export type Column = FieldsWith<'answer'> | 'version_id' | 'version_title' | 'body'
export const columnNames = Object.keys(columns) as readonly Column[]

export type CopiedDocument = { readonly [Name in Column]: Name extends 'id' ? string : string | number | null }

/** Thrown if another mirror has written to the copy since this one read it. */
export class ConcurrentMirrorError extends Error {
  constructor() {
    super('another mirror writes to this copy: stop one of them')
    this.name = 'ConcurrentMirrorError'
  }
}
