import type { Static } from 'typebox'
import { Type } from '../schema-types.ts'
import type { KeywordQuery } from '../text/types.ts'
import { named } from '../validation.ts'
import type { Near } from './nearest.ts'
import type { ChunkScore } from './search-index.ts'

/** Named parts of a score. Each is made where its score is, of the same numbers, so that the two cannot part. */
export type Parts = Readonly<Record<string, number>>

const parts = (description: string) => Type.Optional(Type.Record(Type.String(), Type.Number(), { description }))

export const Explanation = named(
  'ScoreExplanation',
  Type.Object(
    {
      keyword: parts(
        'Adds up to `keyword_score`: what each word and phrase of the query adds, by how it was typed, and two neighbouring words ' +
          'that stand side by side, with a blank between them. A word that was corrected or taken for a beginning is named as typed.',
      ),
      vector: parts(
        'Adds up to `vector_score`: `cosine`; or, where several embedding profiles were asked, what each that has a vector of the document ' +
          'adds, by its id: its cosine in terms of those of the default profile, divided by their number.',
      ),
      cosines: parts(
        'Where several embedding profiles were asked: the cosine of each, by its id, as its model has it.',
      ),
      fusion: parts(
        'Hybrid: what `lexical` (from `keyword_score`), `vector` (from `vector_score`), `quality` and `recency` add to the fused score, ' +
          '0 to 1, each times its weight. The fewer of the words of the query the best document by words has, the more of the weight of ' +
          '`lexical` the vector has.',
      ),
      rerank: parts(
        'Hybrid, adds up to `score`: `fused` (the sum of `fusion`), `coverage`, `proximity`, `title` and `phrase`, each times its weight ' +
          'and brought to 0 to 0.9; for an exact hit to 0 to 0.1, with `exact` 0.9. Where a cross-encoder has the last word, `cross_encoder` ' +
          'is its score alone; the candidates that it was not asked about have all parts times its lowest score.',
      ),
    },
    { additionalProperties: false },
  ),
)
export type Explanation = Static<typeof Explanation>

/** By what was typed: of a chunk that the index gave the parts of its score. What was typed alike is one part. */
export function keywordParts({ clauses, boosts }: KeywordQuery, { parts = [] }: ChunkScore): Parts {
  const named = new Map<string, number>()
  for (const [i, { typed = '' }] of [...clauses, ...boosts].entries()) {
    const part = parts[i] ?? 0
    if (part !== 0) named.set(typed, (named.get(typed) ?? 0) + part)
  }
  return Object.fromEntries(named)
}

export function vectorParts({ score, nearness }: Near): Pick<Explanation, 'vector' | 'cosines'> {
  if (nearness === undefined) return { vector: { cosine: score } }
  return {
    vector: Object.fromEntries(nearness.map(({ profileId, part }) => [profileId, part])),
    cosines: Object.fromEntries(nearness.map(({ profileId, cosine }) => [profileId, cosine])),
  }
}
