import type { Scope } from '../../access/scope.ts'
import type { Embedder } from '../../embedding/embedder.ts'
import { EmbeddingError } from '../../embedding/embedding-error.ts'
import type { QueryCache } from '../../embedding/query-cache.ts'
import type { Caller } from '../../fair-queue/caller.ts'
import { withDeadline } from '../../outbound/with-deadline.ts'
import { isUnavailability, UnavailableError } from '../../platform/errors.ts'
import { searchLimits as limits } from '../limits.ts'
import type { SearchRequest } from '../parse/search-request.ts'
import type { SearchTime } from '../search-time.ts'
import type { QueryVector } from './nearest.ts'

export interface QueryEmbedders {
  /** The embedder of the default profile. */
  readonly embedder: Embedder
  /** The embedders of the other profiles that are searched now. */
  readonly others: () => readonly OtherEmbedder[]
  readonly cache: QueryCache
}

/**
 * An embedder besides that of the default profile. A stand-in has the profile that was the default before; the new
 * default does not have all vectors yet.
 */
export interface OtherEmbedder {
  readonly embedder: Embedder
  readonly role: 'besides' | 'stand_in'
}

type UsedEmbedder = OtherEmbedder | { readonly embedder: Embedder; readonly role: 'default' }

export interface QueryVectors {
  /** Empty if no vector is needed or none could be computed. */
  readonly found: readonly QueryVector[]
  /** The error if a vector could not be computed; otherwise null. */
  readonly failed: Error | null
}

/**
 * The vectors of the query: from the default profile, from other profiles whose model may know the language of the
 * query, and from all stand-ins. A vector that the caller sends belongs to the default profile. `until` is a deadline
 * in terms of `Date.now()`.
 */
export async function queryVectors(
  embedders: QueryEmbedders,
  request: SearchRequest,
  scope: Scope,
  caller: Caller,
  until: number,
  time: SearchTime,
): Promise<QueryVectors> {
  // Vectors are computed from bodies, so a caller who may not read any body cannot find anything by vector.
  const isUseful = request.mode !== 'keyword' && scope.entries.some(({ fields }) => fields.includes('body'))
  if (!isUseful) return { found: [], failed: null }
  return time.spend('embedding', () => computeVectors(embedders, request, caller, until))
}

async function computeVectors(
  { embedder, others, cache }: QueryEmbedders,
  request: SearchRequest,
  caller: Caller,
  until: number,
): Promise<QueryVectors> {
  const main: UsedEmbedder = { embedder, role: 'default' }
  if (request.queryVector !== null) {
    // No vector has been computed yet, so there is nothing to compare with. This is an outage, not an empty result.
    if (embedder.dimensions === null) {
      return { found: [], failed: new UnavailableError('the dimensions are not known yet') }
    }
    // Only the direction counts. The vector is scaled first, because a 32-bit float cannot hold every finite number.
    const largest = request.queryVector.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
    const vector = new Float32Array(request.queryVector.map((value) => value / largest))
    return { found: [queryVector(main, vector)], failed: null }
  }
  const isUsed = ({ embedder, role }: OtherEmbedder) => role === 'stand_in' || mayKnow(embedder, request.languages)
  const used: readonly UsedEmbedder[] = [main, ...others().filter(isUsed)]
  const outcomes = await Promise.all(used.map((one) => embedded(one.embedder, cache, request.text, caller, until)))
  return {
    found: used.flatMap((one, i) => {
      const vector = outcomes[i]
      return vector instanceof Float32Array ? queryVector(one, vector) : []
    }),
    failed: outcomes.find((one) => one instanceof Error) ?? null,
  }
}

/** Returns the error if the embedder is unavailable or late. */
async function embedded(
  embedder: Embedder,
  cache: QueryCache,
  text: string,
  caller: Caller,
  until: number,
): Promise<Float32Array | Error> {
  try {
    return await withDeadline(until - Date.now(), caller.signal, (signal) =>
      cache.embed(embedder, text, signal, caller.id),
    )
  } catch (error) {
    if (!isUnavailability(error)) throw error
    const isLate = error instanceof EmbeddingError && error.code === 'aborted'
    return isLate ? new UnavailableError(`the query had no vector after ${limits.vectorWaitMs} ms`) : error
  }
}

/** The default profile has vectors of texts in all languages. So has a stand-in, which was the default before. */
const queryVector = ({ embedder, role }: UsedEmbedder, vector: Float32Array): QueryVector => ({
  profileId: embedder.profileId,
  vector,
  cosines: embedder.cosines,
  languages: role === 'besides' ? embedder.languages : null,
  isStandIn: role === 'stand_in',
})

const mayKnow = ({ languages: known }: Embedder, languages: readonly string[] | null): boolean =>
  known === null || languages === null || languages.some((language) => known.includes(language))
