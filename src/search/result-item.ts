import type { Static } from 'typebox'
import { documentStatuses } from '../ingest/content-store.ts'
import { Type } from '../schema-types.ts'
import { choice, dateTime, named, orNull } from '../validation.ts'
import { Explanation } from './explain.ts'
import { searchLimits as limits } from './limits.ts'

export const ResultItem = named(
  'SearchResult',
  Type.Object({
    document_id: Type.String(),
    version_id: Type.String(),
    best_chunk_id: Type.String(),
    dataset_id: Type.String(),
    source_platform: Type.String(),
    title: Type.Optional(orNull(Type.String())),
    content_type: Type.Optional(orNull(Type.String())),
    language: Type.Optional(orNull(Type.String())),
    published_at: Type.Optional(orNull(dateTime)),
    status: Type.Optional(
      choice(documentStatuses, { description: 'An addition: what the collector last said of the original.' }),
    ),
    url: Type.Optional(
      orNull(Type.String(), {
        description: 'An addition: where the original stands. Absent where an earlier version alone may be read.',
      }),
    ),
    external_id: Type.Optional(Type.String({ description: 'An addition: the id on the platform.' })),
    region: Type.Optional(orNull(Type.String(), { description: 'An addition.' })),
    author: Type.Optional(
      orNull(
        named(
          'ResultAuthor',
          Type.Object({ external_author_id: orNull(Type.String()), nickname: orNull(Type.String()) }),
        ),
        { description: 'An addition. With `author` or `metadata`; null where nothing was collected of the author.' },
      ),
    ),
    topics: Type.Optional(Type.Array(Type.String(), { description: 'An addition. With `metadata`.' })),
    tags: Type.Optional(Type.Array(Type.String(), { description: 'An addition. With `metadata`.' })),
    body: Type.Optional(
      Type.String({ description: `At most ${limits.summaryCharactersMax} characters around the best match.` }),
    ),
    origin: choice(['indexed', 'live']),
    score: Type.Number({ description: 'Orders the results, unless `sort` names another order.' }),
    keyword_score: orNull(Type.Number()),
    vector_score: orNull(Type.Number({ description: 'Cosine similarity.' })),
    rerank_score: orNull(Type.Number()),
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
