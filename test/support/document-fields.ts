/**
 * The fields of the document object, in the order of answers, as all tests state them. The list imports nothing from src,
 * so that tests notice a mistake in the table of src. A new field is one row here.
 */
export interface DocumentField {
  /** Its name in requests and answers. */
  readonly name: string
  /** Its name in our code. */
  readonly property: string
  /** `text`: free text. `code`: a text that is compared, which refuses NUL. */
  readonly kind: 'code' | 'text' | 'time' | 'integer' | 'texts' | 'object'
  /** Every document has a value. Other fields are null or an empty list if nothing was sent. */
  readonly required?: true
  /** Any of these permissions opens it. Absent: it comes with every document. */
  readonly openedBy?: readonly string[]
  /** Two values that collectors send. Absent for fields whose changes have rules of their own, such as the title. */
  readonly samples?: readonly [unknown, unknown]
  /** Results show it: with the version, with the columns, or as one of the details. */
  readonly result?: 'version' | 'columns' | 'details'
  /** The search index has it: in the columns that scopes read, or in those that only keyword searches read. */
  readonly indexed?: 'columns' | 'catalog'
}

export const documentFields: readonly DocumentField[] = [
  { name: 'id', property: 'documentId', kind: 'code', required: true },
  { name: 'dataset_id', property: 'datasetId', kind: 'code', required: true, result: 'columns', indexed: 'columns' },
  {
    name: 'source_platform',
    property: 'platform',
    kind: 'code',
    required: true,
    result: 'columns',
    indexed: 'columns',
  },
  { name: 'external_id', property: 'externalId', kind: 'code', required: true, result: 'details' },
  {
    name: 'url',
    property: 'url',
    kind: 'text',
    samples: ['https://example.com/one', 'https://example.com/two'],
    result: 'details',
  },
  {
    name: 'thumbnail_url',
    property: 'thumbnailUrl',
    kind: 'text',
    openedBy: ['metadata'],
    samples: ['https://example.com/one.png', 'https://example.com/two.png'],
    result: 'details',
  },
  { name: 'title', property: 'title', kind: 'text', openedBy: ['title'], result: 'version' },
  {
    name: 'content_type',
    property: 'contentType',
    kind: 'code',
    samples: ['article', 'post'],
    result: 'columns',
    indexed: 'columns',
  },
  {
    name: 'language',
    property: 'language',
    kind: 'code',
    samples: ['en', 'de'],
    result: 'columns',
    indexed: 'columns',
  },
  {
    name: 'region',
    property: 'region',
    kind: 'code',
    samples: ['GB', 'DE'],
    result: 'columns',
    indexed: 'columns',
  },
  {
    name: 'status',
    property: 'status',
    kind: 'code',
    required: true,
    samples: ['active', 'unavailable'],
    result: 'columns',
    indexed: 'columns',
  },
  { name: 'current_version_id', property: 'currentVersionId', kind: 'code', required: true },
  {
    name: 'published_at',
    property: 'publishedAt',
    kind: 'time',
    samples: ['2026-03-01T00:00:00.000Z', '2026-04-01T00:00:00.000Z'],
    result: 'columns',
    indexed: 'columns',
  },
  { name: 'created_at', property: 'createdAt', kind: 'time', required: true },
  { name: 'observed_at', property: 'observedAt', kind: 'time', required: true },
  {
    name: 'author',
    property: 'author',
    kind: 'object',
    openedBy: ['author', 'metadata'],
    samples: [{ external_author_id: 'ann', nickname: 'Ann' }, { nickname: 'Bob' }],
    result: 'details',
  },
  {
    name: 'topics',
    property: 'topics',
    kind: 'texts',
    openedBy: ['metadata'],
    samples: [['sea'], ['sea', 'sky']],
    result: 'details',
    indexed: 'catalog',
  },
  {
    name: 'tags',
    property: 'tags',
    kind: 'texts',
    openedBy: ['metadata'],
    samples: [['tide'], ['ebb', 'tide']],
    result: 'details',
    indexed: 'catalog',
  },
  { name: 'classifications', property: 'classifications', kind: 'texts', openedBy: ['facts'], indexed: 'catalog' },
  { name: 'score', property: 'score', kind: 'integer', openedBy: ['metrics'], indexed: 'catalog' },
]

/** The fields that search results show. */
export const resultNames = documentFields.flatMap(({ name, result }) => (result === undefined ? [] : name))

/** The fields that a SQLite copy keeps as JSON. */
export const jsonFields = documentFields.filter(({ kind }) => kind === 'texts' || kind === 'object')

export const fieldPermissions = ['title', 'body', 'author', 'metadata', 'facts', 'metrics'] as const

/** The permissions of each field that needs one, among them those that are not in the document object. */
export const openedBy: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(documentFields.flatMap((field) => (field.openedBy ? [[field.name, field.openedBy]] : []))),
  body: ['body'],
  facts: ['facts'],
  metrics: ['metrics'],
}

/** The names of the fields of a document for a reader with these permissions. */
export const namesOpenTo = (...permissions: readonly string[]): string[] =>
  documentFields
    .filter((field) => field.openedBy === undefined || field.openedBy.some((one) => permissions.includes(one)))
    .map(({ name }) => name)

type Values = Readonly<Record<string, unknown>>

/** The fields as they are in a document for which they were not sent. */
export const emptyValues = (
  key: 'name' | 'property',
  fields = documentFields.filter(({ required }) => !required),
): Values => Object.fromEntries(fields.map((field) => [field[key], field.kind === 'texts' ? [] : null]))

/** The fields that a later change only updates, with two values of each. */
export const sampledFields = documentFields.flatMap(({ samples, ...field }) =>
  samples === undefined ? [] : { ...field, samples },
)

/** The first sample of each field. Our code has times in milliseconds. */
export const sampleValues = (key: 'name' | 'property', fields = sampledFields): Values =>
  Object.fromEntries(
    fields.map(({ kind, samples: [sample], ...field }) => [
      field[key],
      key === 'property' && kind === 'time' ? Date.parse(String(sample)) : sample,
    ]),
  )
