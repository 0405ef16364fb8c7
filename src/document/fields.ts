/**
 * The fields of a document, each declared once. A row says what a field is, who sends it, who may read it and where it is
 * shown; schemas, merging, events, answers, exports, copies and columns follow from it, in the order of the rows.
 *
 * A new field is one row here, one migration for its column, and its own test. The table is plain data and imports nothing:
 * every thread of the store loads it.
 */

/** The field permissions an entitlement entry can grant. All other fields come with any entry. */
export const fieldPermissions = ['title', 'body', 'author', 'metadata', 'facts', 'metrics'] as const
export type FieldPermission = (typeof fieldPermissions)[number]

/** The status of the original, as the collector last reported it. */
export const documentStatuses = ['active', 'unavailable'] as const
export type DocumentStatus = (typeof documentStatuses)[number]

export interface Fact {
  readonly kind: string
  readonly level: 'document' | 'version'
  readonly metadata: Readonly<Record<string, unknown>>
}

/** The types of values in our code. The store keeps those of the second line as JSON. */
export interface FieldValues {
  readonly text: string
  readonly status: DocumentStatus
  /** Milliseconds since 1970. */
  readonly time: number
  readonly integer: number
  readonly number: number

  readonly texts: readonly string[]
  readonly author: Readonly<Record<string, unknown>>
  readonly object: Readonly<Record<string, unknown>>
  readonly numbers: Readonly<Record<string, number>>
  readonly facts: readonly Fact[]
}
export type FieldKind = keyof FieldValues

/** The forms in which collectors write values. `ingest/document-input.ts` has the schema and the reader of each. */
export type InputForm =
  | 'id'
  | 'code'
  | 'name'
  | 'text'
  | 'link'
  | 'status'
  | 'language'
  | 'moment'
  | 'integer'
  | 'fraction'
  | 'words'
  | 'author'
  | 'object'
  | 'numbers'
  | 'facts'

export interface DocumentField {
  /** Its name in our code. */
  readonly property: string
  readonly kind: FieldKind
  /** Every document has a value. */
  readonly required?: true
  /** The column of table `document`, if its name is another. `null`: the table has no such column. */
  readonly column?: string | null
  /** How collectors send it; absent where the server makes it. */
  readonly input?: {
    readonly form: InputForm
    /** Characters of a text, items of a list. */
    readonly most?: number
    readonly description?: string
  }
  /**
   * The rule by which a new value is merged (`ingest/document-state.ts`). `version`: a change makes a new version.
   * `snapshot`: a change makes a new snapshot. `update`: a change is only an update. Facts and the time of observation have
   * rules of their own.
   */
  readonly change?: 'version' | 'update' | 'facts' | 'observation' | 'snapshot'
  /**
   * Which events name it in `changed_fields`, if not all. `versions`: those of new documents and versions. `updates`: those
   * of updates.
   */
  readonly namedIn?: 'versions' | 'updates' | 'none'
  /** Any of these permissions opens it. Absent: it comes with every document. Empty: no reader gets it. */
  readonly openedBy?: readonly FieldPermission[]
  /** A field of the document in answers, exports and copies. */
  readonly answer?: About
  /**
   * A field of search results. `version`: a text of the version that was found. `columns`: read with every result.
   * `details`: read from the current document, and only for requests that ask for it.
   */
  readonly result?: About & { readonly from: 'version' | 'columns' | 'details' }
  /**
   * A change of it is fed to the search index. `columns`: scopes and filters read it. `catalog`: keyword searches can also
   * filter, sort and count by it. The columns of both indexes are declared there.
   */
  readonly indexed?: 'columns' | 'catalog'
}

interface About {
  readonly description?: string
}

/** In the order of answers. */
export const documentFields = {
  id: { property: 'documentId', kind: 'text', required: true, column: 'document_id', answer: {} },
  dataset_id: {
    property: 'datasetId',
    kind: 'text',
    required: true,
    input: { form: 'id', most: 128, description: 'An existing dataset.' },
    answer: {},
    result: { from: 'columns' },
    indexed: 'columns',
  },
  source_platform: {
    property: 'platform',
    kind: 'text',
    required: true,
    input: { form: 'code', description: 'The platform code.' },
    answer: {},
    result: { from: 'columns' },
    indexed: 'columns',
  },
  external_id: {
    property: 'externalId',
    kind: 'text',
    required: true,
    input: { form: 'name', description: 'The ID of the content on the platform. Must never change.' },
    answer: {},
    result: { from: 'details', description: 'Addition: the ID on the platform.' },
  },
  url: {
    property: 'url',
    kind: 'text',
    input: { form: 'text', most: 4096, description: 'The original address.' },
    change: 'update',
    answer: {},
    result: {
      from: 'details',
      description: 'Addition: the address of the original. Absent if the application may read only an earlier version.',
    },
  },
  thumbnail_url: {
    property: 'thumbnailUrl',
    kind: 'text',
    input: { form: 'link', most: 2048, description: 'The http or https address of a small picture.' },
    change: 'update',
    openedBy: ['metadata'],
    answer: { description: 'Needs the permission `metadata`.' },
    result: {
      from: 'details',
      description: 'Addition, with the permission `metadata`: the address of a small picture.',
    },
  },
  title: {
    property: 'title',
    kind: 'text',
    input: { form: 'text', most: 2000, description: 'Plain text. A change makes a new version.' },
    change: 'version',
    openedBy: ['title'],
    answer: { description: 'Needs the permission `title`.' },
    result: { from: 'version' },
  },
  /** Stored with the version. */
  body: {
    property: 'body',
    kind: 'text',
    column: null,
    input: {
      form: 'text',
      most: 4_000_000,
      description: 'Plain text. Vectors are computed from it. A change makes a new version.',
    },
    change: 'version',
    openedBy: ['body'],
    result: { from: 'version' },
  },
  content_type: {
    property: 'contentType',
    kind: 'text',
    input: { form: 'code', description: 'Your own code, such as `article`, `post` or `video`.' },
    change: 'update',
    answer: {},
    result: { from: 'columns' },
    indexed: 'columns',
  },
  language: {
    property: 'language',
    kind: 'text',
    input: { form: 'language', description: 'ISO 639-1, such as `en`. `en-GB` and `eng` are stored as `en`.' },
    change: 'update',
    answer: {},
    result: { from: 'columns' },
    indexed: 'columns',
  },
  region: {
    property: 'region',
    kind: 'text',
    input: { form: 'code', description: 'A region code, such as `GB`.' },
    change: 'update',
    answer: {},
    result: { from: 'columns', description: 'Addition: the region code of the document.' },
    indexed: 'columns',
  },
  status: {
    property: 'status',
    kind: 'status',
    required: true,
    input: {
      form: 'status',
      description: '`unavailable`: deleted or hidden on the platform. New documents are `active` by default.',
    },
    change: 'update',
    answer: {
      description: '`unavailable`: deleted or hidden on the platform, as last reported by the collector.',
    },
    result: {
      from: 'columns',
      description: 'Addition: the status of the original, as last reported by the collector.',
    },
    indexed: 'columns',
  },
  current_version_id: { property: 'currentVersionId', kind: 'text', required: true, answer: {} },
  published_at: {
    property: 'publishedAt',
    kind: 'time',
    input: {
      form: 'moment',
      description: 'When the platform published it. Digits beyond milliseconds are cut off.',
    },
    change: 'update',
    answer: {},
    result: { from: 'columns' },
    indexed: 'columns',
  },
  /** The time in its ID. */
  created_at: {
    property: 'createdAt',
    kind: 'time',
    required: true,
    column: null,
    answer: { description: 'When the document was first ingested.' },
  },
  /** When a collector observed its last change. */
  observed_at: {
    property: 'observedAt',
    kind: 'time',
    required: true,
    input: {
      form: 'moment',
      description: 'When the collector saw this state. Default: the time at which the change arrived.',
    },
    change: 'observation',
    answer: { description: 'When the collector last saw a change.' },
  },
  author: {
    property: 'author',
    kind: 'author',
    input: { form: 'author' },
    change: 'update',
    openedBy: ['author', 'metadata'],
    answer: {},
    result: {
      from: 'details',
      description: 'Addition, with the permission `author` or `metadata`. Null if nothing is known about the author.',
    },
  },
  topics: {
    property: 'topics',
    kind: 'texts',
    input: { form: 'words', most: 200, description: 'What the content is about.' },
    change: 'update',
    openedBy: ['metadata'],
    answer: { description: 'Needs the permission `metadata`.' },
    result: { from: 'details', description: 'Addition, with the permission `metadata`.' },
    indexed: 'catalog',
  },
  tags: {
    property: 'tags',
    kind: 'texts',
    input: { form: 'words', most: 200, description: 'The tags it has on the platform.' },
    change: 'update',
    openedBy: ['metadata'],
    answer: { description: 'Needs the permission `metadata`.' },
    result: { from: 'details', description: 'Addition, with the permission `metadata`.' },
    indexed: 'catalog',
  },
  quality: {
    property: 'quality',
    kind: 'number',
    input: {
      form: 'fraction',
      description:
        'How good the content is, 0 to 1, for ranking in hybrid search. No field returns it, but readers can infer it from hybrid scores.',
    },
    change: 'update',
    namedIn: 'versions',
    openedBy: [],
  },
  extra_payload: {
    property: 'extraPayload',
    kind: 'object',
    input: { form: 'object', description: 'Any JSON object. Stored, never returned to readers.' },
    change: 'update',
    namedIn: 'none',
    openedBy: [],
  },
  facts: {
    property: 'facts',
    kind: 'facts',
    input: {
      form: 'facts',
      most: 200,
      description: 'What is known about the content, such as its classification.',
    },
    change: 'facts',
    namedIn: 'versions',
    openedBy: ['facts'],
  },
  /** Codes of the current category facts, document and version level together. */
  classifications: {
    property: 'classifications',
    kind: 'texts',
    namedIn: 'updates',
    openedBy: ['facts'],
    answer: { description: 'Classification codes. Needs the permission `facts`.' },
    indexed: 'catalog',
  },
  score: {
    property: 'score',
    kind: 'integer',
    input: { form: 'integer', description: "The platform's score. A change makes a new snapshot." },
    change: 'snapshot',
    openedBy: ['metrics'],
    answer: { description: 'Needs the permission `metrics`.' },
    indexed: 'catalog',
  },
  metrics: {
    property: 'metrics',
    kind: 'numbers',
    input: { form: 'numbers', most: 100, description: 'Numbers by name, up to 100. A change makes a new snapshot.' },
    change: 'snapshot',
    openedBy: ['metrics'],
  },
} as const satisfies Readonly<Record<string, DocumentField>>

/** The columns that the store keeps for a document beside its fields. */
export const keptColumns = {
  /**
   * When a collector last observed it, changed or not: the time it reported, or the time of the request. Earlier releases
   * stored the time of the last change.
   */
  updated_at: { property: 'seenAt', kind: 'time', required: true },
  /** The ID of `author`. */
  external_author_id: { property: 'externalAuthorId', kind: 'text', indexed: 'catalog' },
  /** The latest snapshot. */
  snapshot_id: { property: 'snapshotId', kind: 'text' },
  /** Tells a changed body from a repeated one without reading the old text. */
  body_hash: { property: 'bodyHash', kind: 'text' },
  version_count: { property: 'versionCount', kind: 'integer', required: true },
  /**
   * Rises across the whole instance with every change that the search index needs: texts, and columns that scopes and
   * filters read. The index is fed in this order and remembers its position.
   */
  index_revision: { property: 'indexRevision', kind: 'integer', required: true },
} as const satisfies Readonly<Record<string, DocumentField>>
