import { type Static, type TSchema, Type } from 'typebox'
import type { Fields, FieldsWith, IncomingDocument } from '../document/field-types.ts'
import { type DocumentField, documentFields, documentStatuses, type Fact, type InputForm } from '../document/fields.ts'
import { type FieldRow, fieldRows } from '../document/rows.ts'
import type { ErrorDetail } from '../platform/errors.ts'
import { parseTime } from '../platform/time.ts'
import {
  choice,
  codePattern,
  detailsOf,
  exactPattern,
  isExact,
  languageTagPattern,
  messageOf,
  named,
  oneLinePattern,
  orNull,
  storableText,
  strict,
  validatorFor,
  webAddressPattern,
} from '../platform/validation.ts'
import type { Refusal } from './content-store.ts'
import { ingestLimits as limits } from './limits.ts'

/** A field that may be absent, which keeps the stored value, or null, which removes it. */
const optional = <T extends TSchema>(schema: T) => Type.Optional(orNull(schema))
const text = (most: number) => Type.String({ maxLength: most })
const name = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: 512,
    pattern: oneLinePattern,
    description: `${description} At most 512 characters, no control characters.`,
  })
/** The name of a metric or an extra. Without our own pattern, names with a line break would not be validated. */
const key = Type.String({ pattern: oneLinePattern.replace('*', '{1,128}') })
const Author = named(
  'AuthorInput',
  Type.Object(
    {
      external_author_id: Type.Optional(name('The stable ID of the author on the platform. Readers filter by it.')),
      nickname: optional(text(500)),
      avatar_url: optional(text(4096)),
      home_page: optional(text(4096)),
      biography: optional(text(20_000)),
      follower_count: optional(Type.Integer({ minimum: 0 })),
      following_count: optional(Type.Integer({ minimum: 0 })),
      verified: optional(Type.Boolean()),
      extra: optional(
        Type.Record(key, Type.Union([Type.String({ maxLength: 4096 }), Type.Number(), Type.Boolean()]), {
          ...strict,
          maxProperties: 50,
          description:
            'Anything else about the author: texts, numbers and booleans, up to 50. Returned to readers with the other fields.',
        }),
      ),
    },
    strict,
  ),
)

const FactInput = named(
  'Fact',
  Type.Object(
    {
      kind: Type.String({
        minLength: 1,
        maxLength: 128,
        pattern: exactPattern,
        description: 'What the fact is about. A `category` fact assigns the classification in `metadata.label_code`.',
      }),
      level: Type.Optional(
        choice(['document', 'version'], {
          default: 'document',
          description: '`document` facts stay when the text changes; `version` facts end with the current version.',
        }),
      ),
      metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'Any JSON object.' })),
    },
    strict,
  ),
)

type Input = NonNullable<DocumentField['input']>

/** Returns the maximum length. Every row of a form with a length has one. */
const most = (input: Input) => input.most!

/** The schema of each form. */
const forms = {
  id: (input: Input) =>
    Type.String({ minLength: 1, maxLength: most(input), pattern: exactPattern, ...descriptionOf(input) }),
  code: (input: Input) => Type.String({ minLength: 1, maxLength: 128, pattern: codePattern, ...descriptionOf(input) }),
  name: (input: Input) => name(input.description!),
  text: (input: Input) => Type.String({ maxLength: most(input), ...descriptionOf(input) }),
  link: (input: Input) => Type.String({ maxLength: most(input), pattern: webAddressPattern, ...descriptionOf(input) }),
  status: (input: Input) => choice(documentStatuses, descriptionOf(input)),
  language: (input: Input) => Type.String({ maxLength: 128, pattern: languageTagPattern, ...descriptionOf(input) }),
  moment: (input: Input) => Type.String({ format: 'date-time', ...descriptionOf(input) }),
  integer: (input: Input) =>
    Type.Integer({
      minimum: Number.MIN_SAFE_INTEGER,
      maximum: Number.MAX_SAFE_INTEGER,
      ...descriptionOf(input),
    }),
  fraction: (input: Input) => Type.Number({ minimum: 0, maximum: 1, ...descriptionOf(input) }),
  words: (input: Input) =>
    Type.Array(Type.String({ minLength: 1, maxLength: 256, pattern: oneLinePattern }), {
      maxItems: most(input),
      ...descriptionOf(input),
    }),
  author: () => Author,
  object: (input: Input) => Type.Record(Type.String(), Type.Unknown(), descriptionOf(input)),
  numbers: (input: Input) =>
    Type.Record(key, Type.Number(), { ...strict, maxProperties: most(input), ...descriptionOf(input) }),
  facts: (input: Input) => Type.Array(FactInput, { maxItems: most(input), ...descriptionOf(input) }),
} as const satisfies Record<InputForm, (input: Input) => TSchema>

const descriptionOf = ({ description }: Input) => (description === undefined ? {} : { description })

type SentField = FieldsWith<'input'>
type SchemaOf<Name extends SentField> = ReturnType<(typeof forms)[Fields[Name]['input']['form']]>
/** Null removes a value, except one that every document has. */
type Sent<Name extends SentField> = Fields[Name] extends { required: true }
  ? ReturnType<typeof Type.Optional<SchemaOf<Name>>>
  : ReturnType<typeof optional<SchemaOf<Name>>>

const sentRows = fieldRows.flatMap((row) => (row.input === undefined ? [] : { ...row, input: row.input }))
/** The fields that identify a document. They are always sent. */
const isIdentity = ({ change }: FieldRow): boolean => change === undefined

/** The fields that documents of tasks share with all others: everything except where the document belongs. */
const contentFields = {
  external_id: schemaOf('external_id'),
  ...Object.fromEntries(
    sentRows
      .filter((row) => !isIdentity(row))
      .map(({ name, required, input }) => {
        const schema: TSchema = forms[input.form](input)
        return [name, required ? Type.Optional(schema) : optional(schema)]
      }),
  ),
} as { external_id: SchemaOf<'external_id'> } & {
  [Name in Extract<SentField, FieldsWith<'change'>>]: Sent<Name>
}

function schemaOf<Name extends SentField>(name: Name): SchemaOf<Name> {
  const { input } = documentFields[name]
  return forms[input.form](input) as SchemaOf<Name>
}

const belongsTo = { dataset_id: schemaOf('dataset_id'), source_platform: schemaOf('source_platform') }
export const DocumentInput = named(
  'DocumentInput',
  Type.Object(
    {
      ...belongsTo,
      ...contentFields,
    },
    {
      ...strict,
      description:
        'Identified by `dataset_id`, `source_platform` and `external_id`. A title or a body is required. When a document is sent again, a field that is left out keeps its value and null clears it; lists and objects are replaced as a whole. NUL and unpaired surrogates are refused in IDs, codes, topics, tags and metric names, replaced with U+FFFD in texts (title, body, URLs, author), and kept in `extra_payload` and the `metadata` of facts.',
    },
  ),
)
/** A document for a task, which determines where it belongs. */
export const TaskDocumentInput = named(
  'TaskDocumentInput',
  Type.Object(
    {
      dataset_id: Type.Optional(belongsTo.dataset_id),
      source_platform: Type.Optional(belongsTo.source_platform),
      ...contentFields,
    },
    { ...strict, description: 'Like `DocumentInput`; dataset and platform default to those of the task.' },
  ),
)
type DocumentInput = Static<typeof DocumentInput>

const validate = validatorFor(DocumentInput, 'body')

export type CheckedDocument = { readonly document: IncomingDocument } | { readonly refusal: Refusal }

/** Returns a checked document in our own form; or the refusal, with the path of each faulty field. */
export function checkDocument(input: unknown): CheckedDocument {
  if (!validate(input)) return refusal(detailsOf(validate.errors))
  const sent = input as DocumentInput
  const title = cleanText(sent.title)
  const body = cleanText(sent.body)
  if (!title && !body) return refused('title', 'or body is required')
  const deep = tooDeep(sent)
  if (deep !== null) return refused(deep, `must not be nested deeper than ${limits.nestingMax} levels`)
  const code = invalidCode(sent)
  if (code !== null) return refused(code, 'must not contain NUL or an unpaired surrogate')
  const document: Record<string, unknown> = {}
  for (const { name, property, input } of sentRows) {
    const value = sent[name as keyof DocumentInput]
    const read = readers[input.form]
    document[property] = value == null || read === undefined ? value : read(value as never)
  }
  return { document: document as unknown as IncomingDocument }
}

/** Converts sent values to stored ones, for forms that need it. Each reader gets a value that its schema allows. */
const readers: Readonly<Partial<Record<InputForm, (sent: never) => unknown>>> = {
  text: cleanText,
  language: languageOf,
  moment: parseTime,
  words: (values: readonly string[]) => [...new Set(values)],
  author: authorOf,
  facts: (facts: readonly Static<typeof FactInput>[]) =>
    facts.map(({ kind, level = 'document', metadata = {} }): Fact => ({ kind, level, metadata })),
}

const refused = (path: string, message: string): CheckedDocument => refusal([{ path, message }])

function refusal(details: readonly ErrorDetail[]): CheckedDocument {
  const message = messageOf(details).replace('the body', 'the document')
  return { refusal: { code: 'invalid_document', message, details } }
}

/** An empty text counts as none. */
function cleanText(value: string | null | undefined): string | null | undefined {
  if (value == null) return value
  return value === '' ? null : storableText(value)
}

/** Returns the path of the first fact whose code cannot be stored as a key in every store. */
function invalidCode(sent: DocumentInput): string | null {
  const fact = sent.facts?.findIndex(
    ({ kind, metadata }) =>
      kind === 'category' && typeof metadata?.label_code === 'string' && !isExact(metadata.label_code),
  )
  return fact === undefined || fact < 0 ? null : `facts.${fact}.metadata.label_code`
}

/** Returns the free-form field that nests too deeply for recursive code. */
function tooDeep(sent: DocumentInput): string | null {
  if (sent.extra_payload != null && nestsDeeper(sent.extra_payload, limits.nestingMax)) return 'extra_payload'
  const fact = sent.facts?.findIndex(({ metadata = {} }) => nestsDeeper(metadata, limits.nestingMax)) ?? -1
  return fact < 0 ? null : `facts.${fact}.metadata`
}

function nestsDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  for (const one of Object.values(value)) if (nestsDeeper(one, levels - 1)) return true
  return false
}

/** Returns the author in a fixed order and without empty fields, so that equal authors are equal texts. */
function authorOf(author: Static<typeof Author>): Record<string, unknown> {
  const known: Record<string, unknown> = {}
  for (const key of Object.keys(Author.properties) as (keyof typeof author)[]) {
    const sent = author[key]
    const value = typeof sent === 'string' ? cleanText(sent) : sent
    if (value != null) known[key] = key === 'extra' ? extraOf(value as object) : value
  }
  return known
}

/** `fromEntries` instead of assignment, because a name may be __proto__. */
const extraOf = (extra: object): object =>
  Object.fromEntries(
    Object.entries(extra).map(([name, value]) => [name, typeof value === 'string' ? storableText(value) : value]),
  )

/** Readers name languages by two letters, so a three-letter code is replaced by its two-letter form if there is one. */
function languageOf(sent: string): string {
  const code = sent.split(/[-_]/, 1)[0]!.toLowerCase()
  return code.length === 2 ? code : Intl.getCanonicalLocales(code)[0]!.split('-', 1)[0]!
}
