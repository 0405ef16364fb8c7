import type { AnalysisType } from './analysis-types.ts'
import { type Operation, quotaOperations } from './operations.ts'
import type { Policy } from './policy.ts'
import { policyDefaults } from './policy-defaults.ts'

export function rateOf(policy: Policy): { perSecond: number; burst: number } {
  const perSecond = policy.requests_per_second ?? policyDefaults.requestsPerSecond
  return { perSecond, burst: policy.burst ?? Math.max(1, Math.ceil(perSecond * 2)) }
}

export const inFlightMaxOf = (policy: Policy): number => policy.max_in_flight ?? policyDefaults.inFlight

export const isExecuted = (policy: Policy, type: AnalysisType): boolean =>
  (policy.analysis?.types ?? policyDefaults.analysisTypes).includes(type)

/** Whether subscriptions start runs. */
export const isScheduled = (policy: Policy): boolean =>
  policy.analysis_enabled === true && policy.analysis?.scheduling === true

/** The daily limit of an operation, or null where the policy sets none. */
export function dailyLimitOf(policy: Policy, operation: Operation): number | null {
  const name = quotaOperations[operation as keyof typeof quotaOperations]
  return name === undefined ? null : (policy.daily_quotas?.[name] ?? null)
}
