import type { Consumer } from '../access/principal.ts'
import type { Scope } from '../access/scope.ts'
import { type ErrorCode, TidemarkError } from '../errors.ts'
import type { AnalysisStore, AnalysisType } from './analysis-store.ts'
import { accessTo, faultOf, type InputScope } from './input-scope.ts'

/** Types that work on vectors, and so on those of one profile. */
const vectorTypes: readonly AnalysisType[] = ['knn_graph', 'clustering', 'deduplication']

export interface AnalysisRequest {
  readonly analysisType: AnalysisType
  readonly embeddingProfileId: string | null
  readonly inputScope: InputScope
}

/**
 * What every analysis is tested for, in the order of the interface: the request itself (400 `invalid`), the profile
 * (400), then whether the application may analyse this at all (403). Gives the scope of the application in the input.
 */
export async function checkRequest(
  request: AnalysisRequest,
  consumer: Pick<Consumer, 'policy' | 'entries'>,
  store: AnalysisStore,
  invalid: ErrorCode,
): Promise<Scope> {
  const { analysisType, embeddingProfileId, inputScope } = request
  const fault = faultOf(inputScope)
  if (fault !== null) throw new TidemarkError(invalid, `${fault.path} ${fault.message}`, { details: [fault] })
  const path = 'embedding_profile_id'
  if (embeddingProfileId === null && vectorTypes.includes(analysisType)) {
    const message = `is required for ${analysisType}`
    throw new TidemarkError(invalid, `${path} ${message}`, { details: [{ path, message }] })
  }
  if (embeddingProfileId !== null) {
    const profile = await store.profile(embeddingProfileId)
    if (profile === null || !profile.active) {
      const message = profile === null ? 'is not the id of an embedding profile' : 'is a profile that is not active'
      throw new TidemarkError('analysis_request_failed', `${path} ${message}`, { details: [{ path, message }] })
    }
  }
  if (consumer.policy.analysis_enabled !== true) {
    throw new TidemarkError('analysis_forbidden', 'analysis is not enabled for this application: ask its operator')
  }
  const access = accessTo(inputScope, consumer.entries)
  if (access.allowed) return access.scope
  throw new TidemarkError('analysis_forbidden', access.reason, {
    ...(access.path === null ? {} : { details: [{ path: access.path, message: access.reason }] }),
  })
}
