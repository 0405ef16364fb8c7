/**
 * The port: a copy of what an application may read, wherever it is kept. A row is a document as batch-get gives it, with
 * the text of its current version; what may not be read is null.
 */
export interface Copy {
  /** How far it goes, as it was saved last; null for a copy that has nothing yet. */
  place(): Promise<Place | null>
  /** All or nothing, on disk when it resolves: data, and how far it goes. */
  save(step: SavedStep): Promise<void>
  /** Documents in the order of their ids, from behind one. */
  after(id: string, most: number): Promise<readonly CopiedDocument[]>
  read(ids: readonly string[]): Promise<readonly CopiedDocument[]>
  /** Changes that are saved together where there are many: more where a step costs more. */
  readonly changesAtOnce: number
  close(): Promise<void>
}

export interface Place {
  /** Whose copy it is, and a digest of what that application was entitled to when its export began. */
  readonly applicationId: string
  readonly entitlements: string
  /** Of an export that is under way: where it goes on, and the last document before that. Null, and empty, at its start. */
  readonly exportCursor: string | null
  readonly exportedThrough: string
  /** Where the feed goes on; null while the export is not complete. */
  readonly changesCursor: string | null
}

export interface SavedStep {
  readonly documents: readonly CopiedDocument[]
  readonly gone: readonly string[]
  /**
   * `documents` are all there are behind one id and up to another: what else the copy has there goes. `through` is null
   * for the rest of all ids.
   */
  readonly covers?: { readonly after: string; readonly through: string | null }
  readonly place: Place
}

/** In their order. Times are RFC 3339 texts here, and JSON is a text too; a copy may keep them in types of its own. */
export const columns = {
  id: 'text',
  dataset_id: 'text',
  source_platform: 'text',
  external_id: 'text',
  url: 'text',
  title: 'text',
  content_type: 'text',
  language: 'text',
  region: 'text',
  status: 'text',
  current_version_id: 'text',
  published_at: 'time',
  created_at: 'time',
  observed_at: 'time',
  author: 'json',
  topics: 'json',
  tags: 'json',
  classifications: 'json',
  score: 'number',
  version_id: 'text',
  version_title: 'text',
  body: 'text',
} as const satisfies Readonly<Record<string, ColumnKind>>

export type ColumnKind = 'text' | 'time' | 'json' | 'number'
export type Column = keyof typeof columns
export const columnNames = Object.keys(columns) as readonly Column[]

export type CopiedDocument = { readonly [Name in Column]: Name extends 'id' ? string : string | number | null }

/** Another mirror has written to the copy since this one looked. */
export class NotAlone extends Error {
  constructor() {
    super('another mirror keeps this copy: let one run alone')
    this.name = 'NotAlone'
  }
}
