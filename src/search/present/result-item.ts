import { type Static, type TSchema, Type } from 'typebox'
import type { Fields, FieldsWith } from '../../document/field-types.ts'
import { documentStatuses, type FieldKind } from '../../document/fields.ts'
import { resultRows } from '../../document/rows.ts'
import { choice, named, orNull } from '../../platform/validation.ts'
import { searchLimits as limits } from '../limits.ts'
import { Explanation } from './explain.ts'

/** The schema for each kind of value. */
const kinds = {
  text: Type.String,
  time: (about: About) => Type.String({ format: 'date-time', ...about }),
  integer: Type.Integer,
  number: Type.Number,
  status: (about: About) => choice(documentStatuses, about),
  texts: (about: About) => Type.Array(Type.String(), about),
  author: () =>
    named('ResultAuthor', Type.Object({ external_author_id: orNull(Type.String()), nickname: orNull(Type.String()) })),
} as const satisfies Partial<Record<FieldKind, (about: About) => TSchema>>
type About = { readonly description?: string }

type KindSchema<Name extends FieldsWith<'result'>> = ReturnType<(typeof kinds)[Fields[Name]['kind']]>
type Shown<Name extends FieldsWith<'result'>> = Fields[Name] extends { required: true } | { kind: 'texts' }
  ? KindSchema<Name>
  : ReturnType<typeof orNull<KindSchema<Name>>>

/** The fields that the table of fields declares. None is required, because a request can leave out each of them. */
const documentProperties = Object.fromEntries(
  resultRows.map(({ name, kind, required, result: { description } }) => {
    const make: (about: About) => TSchema = kinds[kind as keyof typeof kinds]
    const about = description === undefined ? {} : { description }
    return [name, Type.Optional(required || kind === 'texts' ? make(about) : orNull(make({}), about))]
  }),
) as { [Name in FieldsWith<'result'>]: ReturnType<typeof Type.Optional<Shown<Name>>> }

export const ResultItem = named(
  'SearchResult',
  Type.Object({
    document_id: Type.String(),
    version_id: Type.String(),
    best_chunk_id: Type.String(),
    ...documentProperties,
    body: Type.Optional(
      Type.String({
        description: `At most ${limits.summaryCharactersMax} characters around the best match, not the full text.`,
      }),
    ),
    origin: choice(['indexed', 'live'], {
      description: '`indexed`: found in the search index; `live`: collected on demand.',
    }),
    score: Type.Number({ description: 'The final score. Results are ordered by it unless `sort` says otherwise.' }),
    keyword_score: Type.Optional(
      orNull(Type.Number({ description: 'BM25. Null if the result was not found by words.' })),
    ),
    vector_score: Type.Optional(
      orNull(Type.Number({ description: 'Cosine similarity. Null if the result was not found by meaning.' })),
    ),
    rerank_score: Type.Optional(
      orNull(Type.Number({ description: 'Hybrid mode: the score after reranking, equal to `score`.' })),
    ),
    explanation: Type.Optional(Explanation),
    highlights: Type.Optional(
      Type.Array(Type.String(), { description: 'Up to 3 fragments: HTML-escaped text with hits in `<em>…</em>`.' }),
    ),
    matched_chunks: Type.Optional(
      Type.Array(
        named(
          'MatchedChunk',
          Type.Object({
            chunk_id: Type.String(),
            chunk_index: Type.Integer(),
            body: Type.Optional(Type.String()),
            score: Type.Number(),
          }),
        ),
      ),
    ),
  }),
)
export type ResultItem = Static<typeof ResultItem>
