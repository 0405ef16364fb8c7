import type { Embedder } from '../embedding/embedder.ts'
import { EmbeddingError } from '../embedding/embedding-error.ts'
import type { QueryCache } from '../embedding/query-cache.ts'
import { isUnavailability, UnavailableError } from '../errors.ts'
import { withDeadline } from '../outbound/with-deadline.ts'
import type { Caller } from '../turns/caller.ts'
import { searchLimits as limits } from './limits.ts'
import type { QueryVector } from './nearest.ts'
import type { SearchRequest } from './search-request.ts'

export interface QueryEmbedders {
  /** Of the default profile. */
  readonly embedder: Embedder
  /** Of the profiles that are asked too, at this moment. */
  readonly others: () => readonly OtherEmbedder[]
  readonly cache: QueryCache
}

/** An embedder besides that of the default profile; a stand-in's profile was that, which has not all vectors yet. */
export interface OtherEmbedder {
  readonly embedder: Embedder
  readonly role: 'besides' | 'stand_in'
}

type AskedEmbedder = OtherEmbedder | { readonly embedder: Embedder; readonly role: 'default' }

export interface QueryVectors {
  /** None where none is needed, or none could be made. */
  readonly found: readonly QueryVector[]
  /** Why one or more of them could not be made. */
  readonly failed: Error | null
}

/**
 * The query's vectors: of the default profile, of those others whose model may know its language, and, whatever that is,
 * of those that stand in for it: they answered such queries before. A caller's own is one of the default profile.
 */
export async function queryVectors(
  { embedder, others, cache }: QueryEmbedders,
  request: SearchRequest,
  languages: readonly string[] | null,
  caller: Caller,
): Promise<QueryVectors> {
  const main: AskedEmbedder = { embedder, role: 'default' }
  if (request.queryVector !== null) {
    // No vector has ever been made: what would be compared is not there yet, which is not the same as no match.
    if (embedder.dimensions === null) {
      return { found: [], failed: new UnavailableError('the dimensions are not known yet') }
    }
    // Only the direction counts; brought to 1 first, because 32 bits do not hold every finite number.
    const largest = request.queryVector.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
    const vector = new Float32Array(request.queryVector.map((value) => value / largest))
    return { found: [queryVector(main, vector)], failed: null }
  }
  const isAsked = ({ embedder, role }: OtherEmbedder) => role === 'stand_in' || mayKnow(embedder, languages)
  const asked: readonly AskedEmbedder[] = [main, ...others().filter(isAsked)]
  const given = await Promise.all(asked.map((one) => embedded(one.embedder, cache, request.text, caller)))
  return {
    found: asked.flatMap((one, i) => {
      const vector = given[i]
      return vector instanceof Float32Array ? queryVector(one, vector) : []
    }),
    failed: given.find((one) => one instanceof Error) ?? null,
  }
}

/** The vector, or why there is none. */
async function embedded(
  embedder: Embedder,
  cache: QueryCache,
  text: string,
  caller: Caller,
): Promise<Float32Array | Error> {
  try {
    return await withDeadline(limits.vectorWaitMs, caller.signal, (signal) =>
      cache.embed(embedder, text, signal, caller.id),
    )
  } catch (error) {
    if (!isUnavailability(error)) throw error
    const isLate = error instanceof EmbeddingError && error.code === 'aborted'
    return isLate ? new UnavailableError(`the query had no vector after ${limits.vectorWaitMs} ms`) : error
  }
}

/** The default profile's are of all texts, and a stand-in's were when it was the default. */
const queryVector = ({ embedder, role }: AskedEmbedder, vector: Float32Array): QueryVector => ({
  profileId: embedder.profileId,
  vector,
  cosines: embedder.cosines,
  languages: role === 'besides' ? embedder.languages : null,
  isStandIn: role === 'stand_in',
})

const mayKnow = ({ languages: known }: Embedder, languages: readonly string[] | null): boolean =>
  known === null || languages === null || languages.some((language) => known.includes(language))
