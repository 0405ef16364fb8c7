import type { AnalysisType, InputScope } from './analysis-types.ts'

/** The content of an analysis form, as it was typed. */
export interface AnalysisDraft {
  readonly type: AnalysisType
  readonly datasets: readonly string[]
  readonly platforms: string
  readonly languages: string
  readonly from: string
  readonly to: string
  readonly parameters: Readonly<Record<string, unknown>>
  /** The name and the schedule of a subscription; null for a single run. */
  readonly subscription: null | {
    readonly name: string
    readonly mode: 'scheduled' | 'on_change' | 'hybrid'
    readonly hours: number
  }
}

/** The initial values of a form of this type. Required parameters have a value. */
export const initialParameters = (type: AnalysisType): AnalysisDraft['parameters'] =>
  type === 'feature_rollup' ? { by: ['platform'] } : {}

/** Returns what is missing before the analysis can start; null if nothing is. */
export function missingIn({ type, datasets, parameters }: AnalysisDraft): string | null {
  if (datasets.length === 0) return 'Choose at least one dataset.'
  if (type === 'feature_rollup' && parameters.by === undefined) return 'Choose at least one field to count by.'
  return null
}

/** Returns the request body for a draft. Days are UTC days, and the last one is included. */
export function requestOfDraft(draft: AnalysisDraft, profileId: string | null): Readonly<Record<string, unknown>> {
  const { type, parameters, subscription } = draft
  const needsVectors = type !== 'feature_rollup'
  return {
    ...(subscription === null ? {} : { name: subscription.name }),
    analysis_type: type,
    ...(needsVectors && profileId !== null ? { embedding_profile_id: profileId } : {}),
    input_scope: scopeOf(draft),
    ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
    ...(subscription === null ? {} : { execution_mode: subscription.mode }),
    ...(subscription === null || subscription.mode === 'on_change'
      ? {}
      : { interval_seconds: Math.round(subscription.hours * 3_600) }),
  }
}

function scopeOf({ datasets, platforms, languages, from, to }: AnalysisDraft): InputScope {
  const [source_platforms, languageCodes] = [listOf(platforms), listOf(languages)]
  return {
    dataset_ids: datasets,
    ...(source_platforms.length === 0 ? {} : { source_platforms }),
    ...(languageCodes.length === 0 ? {} : { languages: languageCodes }),
    ...(from === '' ? {} : { published_from: `${from}T00:00:00Z` }),
    ...(to === '' ? {} : { published_to: dayAfter(to) }),
  }
}

const listOf = (text: string): readonly string[] => [...new Set(text.split(/[\s,]+/).filter(Boolean))]

function dayAfter(day: string): string {
  const next = new Date(`${day}T00:00:00Z`)
  next.setUTCDate(next.getUTCDate() + 1)
  return `${next.toISOString().slice(0, 10)}T00:00:00Z`
}
