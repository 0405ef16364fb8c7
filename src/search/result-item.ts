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
      choice(documentStatuses, {
        description: 'Addition: the status of the original, as last reported by the collector.',
      }),
    ),
    url: Type.Optional(
      orNull(Type.String(), {
        description:
          'Addition: the address of the original. Absent if the application may read only an earlier version.',
      }),
    ),
    external_id: Type.Optional(Type.String({ description: 'Addition: the ID on the platform.' })),
    region: Type.Optional(orNull(Type.String(), { description: 'Addition: the region code of the document.' })),
    author: Type.Optional(
      orNull(
        named(
          'ResultAuthor',
          Type.Object({ external_author_id: orNull(Type.String()), nickname: orNull(Type.String()) }),
        ),
        {
          description:
            'Addition, with the permission `author` or `metadata`. Null if nothing is known about the author.',
        },
      ),
    ),
    topics: Type.Optional(Type.Array(Type.String(), { description: 'Addition, with the permission `metadata`.' })),
    tags: Type.Optional(Type.Array(Type.String(), { description: 'Addition, with the permission `metadata`.' })),
    body: Type.Optional(
      Type.String({
        description: `At most ${limits.summaryCharactersMax} characters around the best match, not the full text.`,
      }),
    ),
    origin: choice(['indexed', 'live'], {
      description: '`indexed`: found in the search index; `live`: collected on demand.',
    }),
    score: Type.Number({ description: 'The final score. Results are ordered by it unless `sort` says otherwise.' }),
    keyword_score: orNull(Type.Number({ description: 'BM25. Null if the result was not found by words.' })),
    vector_score: orNull(
      Type.Number({ description: 'Cosine similarity. Null if the result was not found by meaning.' }),
    ),
    rerank_score: orNull(Type.Number({ description: 'Hybrid mode: the score after reranking, equal to `score`.' })),
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
