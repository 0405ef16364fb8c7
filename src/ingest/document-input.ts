import type { Static, TSchema } from 'typebox'
import type { ErrorDetail } from '../errors.ts'
import { Type } from '../schema-types.ts'
import { parseTime } from '../time.ts'
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
} from '../validation.ts'
import { documentStatuses, type Fact, type IncomingDocument, type Refusal } from './content-store.ts'
import { ingestLimits as limits } from './limits.ts'

/** What a collector sends, as it is validated and described. Absent keeps what is known; null takes it away. */
const optional = <T extends TSchema>(schema: T) => Type.Optional(orNull(schema))
const text = (most: number, description?: string) =>
  Type.String({ maxLength: most, ...(description === undefined ? {} : { description }) })
const code = (description: string) => Type.String({ minLength: 1, maxLength: 128, pattern: codePattern, description })
const name = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: 512,
    pattern: oneLinePattern,
    description: `${description} At most 512 characters, no control characters.`,
  })
/** A name of a metric or of an extra. Without a pattern of our own, names with a line break would escape validation. */
const key = Type.String({ pattern: oneLinePattern.replace('*', '{1,128}') })
const words = (description: string) =>
  optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 256, pattern: oneLinePattern }), {
      maxItems: limits.wordsMax,
      description,
    }),
  )

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

/** The fields that a task's documents share with all others: everything but where they belong. */
const contentFields = {
  external_id: name('The ID of the content on the platform. Must never change.'),
  url: optional(text(4096, 'The original address.')),
  content_type: optional(code('Your own code, such as `article`, `post` or `video`.')),
  language: optional(
    Type.String({
      maxLength: 128,
      pattern: languageTagPattern,
      description: 'ISO 639-1, such as `en`. `en-GB` and `eng` are stored as `en`.',
    }),
  ),
  region: optional(code('A region code, such as `GB`.')),
  published_at: optional(Type.String({ format: 'date-time', description: 'When the platform published it.' })),
  observed_at: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'When the collector saw this state. Default: the time at which the change arrived.',
    }),
  ),
  title: optional(text(limits.titleCharactersMax, 'Plain text. A change makes a new version.')),
  body: optional(
    text(limits.bodyCharactersMax, 'Plain text. Vectors are computed from it. A change makes a new version.'),
  ),
  author: optional(Author),
  topics: words('What the content is about.'),
  tags: words('The tags it has on the platform.'),
  score: optional(
    Type.Integer({
      minimum: Number.MIN_SAFE_INTEGER,
      maximum: Number.MAX_SAFE_INTEGER,
      description: "The platform's score. A change makes a new snapshot.",
    }),
  ),
  metrics: optional(
    Type.Record(key, Type.Number(), {
      ...strict,
      maxProperties: 100,
      description: 'Numbers by name, up to 100. A change makes a new snapshot.',
    }),
  ),
  quality: optional(
    Type.Number({
      minimum: 0,
      maximum: 1,
      description: 'How good the content is, 0 to 1, for ranking in hybrid search.',
    }),
  ),
  status: Type.Optional(
    choice(documentStatuses, {
      description: '`unavailable`: deleted or hidden on the platform. New documents are `active` by default.',
    }),
  ),
  facts: optional(
    Type.Array(FactInput, {
      maxItems: 200,
      description: 'What is known about the content, such as its classification.',
    }),
  ),
  extra_payload: optional(
    Type.Record(Type.String(), Type.Unknown(), { description: 'Any JSON object. Stored, never returned to readers.' }),
  ),
}

const belongsTo = {
  dataset_id: Type.String({ minLength: 1, maxLength: 128, pattern: exactPattern, description: 'An existing dataset.' }),
  source_platform: code('The platform code.'),
}
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
/** A document for a task, which knows where it belongs. */
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

/** A document from outside, checked and in our own words; or why not, with the path of each field at fault. */
export function checkDocument(input: unknown): CheckedDocument {
  if (!validate(input)) return refusal(detailsOf(validate.errors))
  const sent = input as DocumentInput
  const title = cleanText(sent.title)
  const body = cleanText(sent.body)
  if (!title && !body) return refused('title', 'or body is required')
  const deep = tooDeep(sent)
  if (deep !== null) return refused(deep, `must not be nested deeper than ${limits.nestingMax} levels`)
  const odd = oddCode(sent)
  if (odd !== null) return refused(odd, 'must not contain NUL or an unpaired surrogate')
  const document: Record<keyof IncomingDocument, unknown> = {
    datasetId: sent.dataset_id,
    platform: sent.source_platform,
    externalId: sent.external_id,
    url: cleanText(sent.url),
    contentType: sent.content_type,
    language: sent.language == null ? sent.language : languageOf(sent.language),
    region: sent.region,
    status: sent.status,
    publishedAt: sent.published_at == null ? sent.published_at : parseTime(sent.published_at),
    observedAt: sent.observed_at === undefined ? undefined : parseTime(sent.observed_at),
    title,
    body,
    author: sent.author == null ? sent.author : authorOf(sent.author),
    topics: distinct(sent.topics),
    tags: distinct(sent.tags),
    score: sent.score,
    metrics: sent.metrics,
    quality: sent.quality,
    facts:
      sent.facts?.map(({ kind, level = 'document', metadata = {} }): Fact => ({ kind, level, metadata })) ?? sent.facts,
    extraPayload: sent.extra_payload,
  }
  return { document: document as unknown as IncomingDocument }
}

const refused = (path: string, message: string): CheckedDocument => refusal([{ path, message }])

function refusal(details: readonly ErrorDetail[]): CheckedDocument {
  const message = messageOf(details).replace('the body', 'the document')
  return { refusal: { code: 'invalid_document', message, details } }
}

/** An empty text is none. */
function cleanText(value: string | null | undefined): string | null | undefined {
  if (value == null) return value
  return value === '' ? null : storableText(value)
}

const distinct = (values: readonly string[] | null | undefined): readonly string[] | null | undefined =>
  values == null ? values : [...new Set(values)]

/** The fact whose code, which readers find documents by, no store could keep apart from others. */
function oddCode(sent: DocumentInput): string | null {
  const odd = sent.facts?.findIndex(
    ({ kind, metadata }) =>
      kind === 'category' && typeof metadata?.label_code === 'string' && !isExact(metadata.label_code),
  )
  return odd === undefined || odd < 0 ? null : `facts.${odd}.metadata.label_code`
}

/** The field of free form that nests too deep to be copied and written by functions that call themselves. */
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

/** In a fixed order and without empty fields, so that the same author is the same text. */
function authorOf(author: Static<typeof Author>): Record<string, unknown> {
  const known: Record<string, unknown> = {}
  for (const key of Object.keys(Author.properties) as (keyof typeof author)[]) {
    const sent = author[key]
    const value = typeof sent === 'string' ? cleanText(sent) : sent
    if (value != null) known[key] = key === 'extra' ? extraOf(value as object) : value
  }
  return known
}

/** Not by assignment: a name may be __proto__. */
const extraOf = (extra: object): object =>
  Object.fromEntries(
    Object.entries(extra).map(([name, value]) => [name, typeof value === 'string' ? storableText(value) : value]),
  )

/** Readers name languages by two letters: a code of three stands for the same where there are two. */
function languageOf(sent: string): string {
  const code = sent.split(/[-_]/, 1)[0]!.toLowerCase()
  return code.length === 2 ? code : Intl.getCanonicalLocales(code)[0]!.split('-', 1)[0]!
}
