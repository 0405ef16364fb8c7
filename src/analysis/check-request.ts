import type { AnalysisType } from '../access/analysis-types.ts'
import type { Consumer } from '../access/principal.ts'
import type { Scope } from '../access/scope.ts'
import { type ErrorCode, invalidField, TidemarkError } from '../platform/errors.ts'
import { algorithms } from './algorithms.ts'
import type { AnalysisStore } from './analysis-store.ts'
import { accessTo, faultOf, type InputScope, type Needs, needsOfVectors } from './input-scope.ts'

export interface AnalysisRequest {
  readonly analysisType: AnalysisType
  readonly embeddingProfileId: string | null
  readonly inputScope: InputScope
}

/**
 * Checks a request for any analysis, in the documented order: the request itself (400 `invalid`), the profile (400),
 * then whether the application may run this analysis (403), with the permissions that it `needs`. Returns the part of
 * the input that the application may read.
 */
export async function checkRequest(
  request: AnalysisRequest,
  consumer: Pick<Consumer, 'policy' | 'entries'>,
  store: AnalysisStore,
  invalid: ErrorCode,
  needs: Needs = needsOfVectors,
): Promise<Scope> {
  const { analysisType, embeddingProfileId, inputScope } = request
  const fault = faultOf(inputScope)
  if (fault !== null) throw invalidField(invalid, fault.path, fault.message)
  const path = 'embedding_profile_id'
  if (embeddingProfileId === null && algorithms[analysisType].needsVectors) {
    throw invalidField(invalid, path, `is required for ${analysisType}: ${await activeProfiles(store)}`)
  }
  if (embeddingProfileId !== null) {
    const profile = await store.profile(embeddingProfileId)
    if (profile === null || !profile.active) {
      const message = profile === null ? 'is not a known embedding profile' : 'is not active'
      throw invalidField('analysis_request_failed', path, `${message}: ${await activeProfiles(store)}`)
    }
  }
  const disabled = analysisDisabledError(consumer)
  if (disabled !== null) throw disabled
  const access = accessTo(inputScope, consumer.entries, needs)
  if (access.allowed) return access.scope
  throw new TidemarkError('analysis_forbidden', access.reason, {
    ...(access.path === null ? {} : { details: [{ path: access.path, message: access.reason }] }),
  })
}

/** Returns the error for an application whose policy does not allow analysis; null if it does. */
export const analysisDisabledError = ({ policy }: Pick<Consumer, 'policy'>): TidemarkError | null =>
  policy.analysis_enabled === true
    ? null
    : new TidemarkError('analysis_forbidden', 'analysis is not enabled for this application: ask its operator')

async function activeProfiles(store: AnalysisStore): Promise<string> {
  const ids = await store.activeProfileIds()
  return ids.length === 0 ? 'no profile is active' : `active profiles: ${ids.join(', ')}`
}

/** Returns the same error whether it is missing or belongs to another application, so that ids cannot be probed. */
export const notFound = (what: 'run' | 'subscription'): TidemarkError =>
  new TidemarkError('analysis_not_found', `no such ${what} in this application`)
