import { type Static, Type } from 'typebox'
import { named } from '../../platform/validation.ts'
import type { KeywordQuery } from '../../text/types.ts'
import type { Near } from '../retrieve/nearest.ts'
import type { ChunkScore } from '../search-index.ts'

/**
 * Named parts of a score. They are computed together with the score, from the same numbers, so that they always add up.
 */
export type Parts = Readonly<Record<string, number>>

const parts = (description: string) => Type.Optional(Type.Record(Type.String(), Type.Number(), { description }))

export const Explanation = named(
  'ScoreExplanation',
  Type.Object(
    {
      keyword: parts(
        'Adds up to `keyword_score`: the contribution of each word and phrase of the query, as typed (also if it was corrected or taken as a ' +
          'prefix), and of two adjacent query words that occur next to each other, named with a space between them.',
      ),
      vector: parts(
        'Adds up to `vector_score`: `cosine`. If several embedding profiles were searched, the contribution of each profile with a vector for ' +
          'the document, by ID: its cosine, scaled to the default profile and divided by the number of profiles.',
      ),
      cosines: parts('If several embedding profiles were searched: the unscaled cosine of each, by ID.'),
      fusion: parts(
        'Hybrid mode: the weighted contributions of `lexical` (from `keyword_score`), `vector` (from `vector_score`), `quality` and `recency` to ' +
          'the fused score, 0 to 1. The fewer query words the best keyword match contains, the more weight moves from `lexical` to `vector`.',
      ),
      rerank: parts(
        'Hybrid mode, adds up to `score`: `fused` (the sum of `fusion`), `coverage`, `proximity`, `title` and `phrase`, weighted and scaled to ' +
          '0 to 0.9; for an exact hit to 0 to 0.1, plus `exact` 0.9. With a cross-encoder, `cross_encoder` is its score and the only part; ' +
          'for candidates it did not score, all parts are multiplied by its lowest score.',
      ),
    },
    { additionalProperties: false },
  ),
)
export type Explanation = Static<typeof Explanation>

/**
 * The parts of a chunk's score by the words as typed; empty if the index returned no parts. Equal words share one part.
 */
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
