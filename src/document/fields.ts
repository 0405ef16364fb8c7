/**
 * The fields of a document, each declared once. A row says what a field is, who sends it, who may read it and where it
 * is shown. Schemas, merging, events, answers, exports, copies and columns are derived from it, in the order of the
 * rows.
 *
 * A new field needs one row here, one migration for its column, and a test. The table is plain data and imports
 * nothing, because every thread of the store loads it.
 */

/** The field permissions that an entitlement can grant. Fields without a permission come with every entitlement. */
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

/** The types of values in the code. The store keeps the types after the blank line as JSON. */
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

/** The input formats of collectors. `ingest/document-input.ts` has the schema and the reader of each. */
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
  /** The name in the code. */
  readonly property: string
  readonly kind: FieldKind
  /** Every document has a value. */
  readonly required?: true
  /** The column of table `document`. Default: the name of the field. `null`: the table has no column for it. */
  readonly column?: string | null
  /** How collectors send it. Absent for a field that the server sets. */
  readonly input?: {
    readonly form: InputForm
    /** The maximum: characters of a text, or items of a list. */
    readonly most?: number
    readonly description?: string
  }
  /**
   * The rule by which a new value is merged (`ingest/document-state.ts`). `version`: a change makes a new version.
   * `snapshot`: a change makes a new snapshot. `update`: a change is only an update. Facts and the time of observation
   * have rules of their own.
   */
  readonly change?: 'version' | 'update' | 'facts' | 'observation' | 'snapshot'
  /**
   * The events that name it in `changed_fields`. `versions`: events of new documents and versions. `updates`: events of
   * updates. Default: all.
   */
  readonly namedIn?: 'versions' | 'updates' | 'none'
  /** Any of these permissions opens it. Absent: it needs no permission. Empty: no reader gets it. */
  readonly openedBy?: readonly FieldPermission[]
  /** A field of the document in answers, exports and copies. */
  readonly answer?: About
  /**
   * A field of search results. `version`: a text of the version that was found. `columns`: read with every result.
   * `details`: read from the current document, if the request wants it.
   */
  readonly result?: About & { readonly from: 'version' | 'columns' | 'details' }
  /**
   * The search index holds it. `columns`: a column of every chunk, which scopes read. `catalog`: a column of the
   * document, which keyword searches filter, sort and count by; the kind is a text, texts or an integer.
   */
  readonly indexed?: 'columns' | 'catalog'
  /** The filter of listings and keyword searches by an indexed field. */
  readonly filter?: FieldFilter
  /** The name of the facet in searches. The field must be indexed. */
  readonly facet?: string
  /** `GET /v1/values` lists the values of the facet. */
  readonly isListed?: true
}

/**
 * A filter by one of several texts, or by an interval of integers. For an interval, there are two parameters, with the
 * suffixes `_min` and `_max`.
 */
export interface FieldFilter {
  readonly parameter: string
  /** The noun in descriptions: "one of these LABEL", or for integers "this minimum LABEL". */
  readonly label: string
  /**
   * The filter takes one value, which is only unique within a platform, so the request must name exactly one platform.
   */
  readonly needsPlatform?: true
  /**
   * The kind of term by which listings find a text without scanning. It is stored, so a number is never used again. The
   * migration of a field with a new one is breaking: an earlier version would not delete its terms with a document.
   */
  readonly term?: number
}

interface About {
  readonly description?: string
}

/** In the order in which answers list them. */
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
    facet: 'dataset',
    isListed: true,
  },
  source_platform: {
    property: 'platform',
    kind: 'text',
    required: true,
    input: { form: 'code', description: 'The platform code.' },
    answer: {},
    result: { from: 'columns' },
    indexed: 'columns',
    facet: 'platform',
    isListed: true,
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
    facet: 'content_type',
    isListed: true,
  },
  language: {
    property: 'language',
    kind: 'text',
    input: { form: 'language', description: 'ISO 639-1, such as `en`. `en-GB` and `eng` are stored as `en`.' },
    change: 'update',
    answer: {},
    result: { from: 'columns' },
    indexed: 'columns',
    facet: 'language',
    isListed: true,
  },
  region: {
    property: 'region',
    kind: 'text',
    input: { form: 'code', description: 'A region code, such as `GB`.' },
    change: 'update',
    answer: {},
    result: { from: 'columns', description: 'Addition: the region code of the document.' },
    indexed: 'columns',
    facet: 'region',
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
    facet: 'status',
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
  /** The time that is part of its ID. */
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
    filter: { parameter: 'topics', label: 'topics', term: 1 },
    facet: 'topics',
    isListed: true,
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
    filter: { parameter: 'tags', label: 'platform tags', term: 2 },
    facet: 'tags',
    isListed: true,
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
    filter: { parameter: 'classification_codes', label: 'classification codes', term: 3 },
    facet: 'classifications',
    isListed: true,
  },
  score: {
    property: 'score',
    kind: 'integer',
    input: { form: 'integer', description: "The platform's score. A change makes a new snapshot." },
    change: 'snapshot',
    openedBy: ['metrics'],
    answer: { description: 'Needs the permission `metrics`.' },
    indexed: 'catalog',
    filter: { parameter: 'score', label: 'platform score' },
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
   * When a collector last observed it, changed or not: the time that it reported, or else the time of the request.
   * Earlier releases stored the time of the last change.
   */
  updated_at: { property: 'seenAt', kind: 'time', required: true },
  /** The ID in `author`. */
  external_author_id: {
    property: 'externalAuthorId',
    kind: 'text',
    openedBy: ['author', 'metadata'],
    indexed: 'catalog',
    filter: { parameter: 'external_author_id', label: 'author', needsPlatform: true },
    facet: 'author',
  },
  /** The latest snapshot. */
  snapshot_id: { property: 'snapshotId', kind: 'text' },
  /** Shows whether a body has changed without reading the old text. */
  body_hash: { property: 'bodyHash', kind: 'text' },
  version_count: { property: 'versionCount', kind: 'integer', required: true },
  /**
   * Increases across the whole instance with every change that the search index needs, in texts or indexed columns. The
   * index is fed in this order and remembers its position.
   */
  index_revision: { property: 'indexRevision', kind: 'integer', required: true },
} as const satisfies Readonly<Record<string, DocumentField>>
