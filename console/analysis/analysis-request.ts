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
  /** The schedule of a subscription; null for a single run. */
  readonly again: null | {
    readonly name: string
    readonly mode: 'scheduled' | 'on_change' | 'hybrid'
    readonly hours: number
  }
}

/** The first values of a form of this type. Required parameters need a value. */
export const parametersAtFirst = (type: AnalysisType): AnalysisDraft['parameters'] =>
  type === 'feature_rollup' ? { by: ['platform'] } : {}

/** Returns what is missing before the analysis can start; null if nothing is. */
export function lackingIn({ type, datasets, parameters }: AnalysisDraft): string | null {
  if (datasets.length === 0) return 'Choose at least one dataset.'
  if (type === 'feature_rollup' && parameters.by === undefined) return 'Choose at least one value to count by.'
  return null
}

/** Returns the request body for a draft. Days are whole UTC days, and the last one is included. */
export function requestOfDraft(draft: AnalysisDraft, profileId: string | null): Readonly<Record<string, unknown>> {
  const { type, parameters, again } = draft
  const needsVectors = type !== 'feature_rollup'
  return {
    ...(again === null ? {} : { name: again.name }),
    analysis_type: type,
    ...(needsVectors && profileId !== null ? { embedding_profile_id: profileId } : {}),
    input_scope: scopeOf(draft),
    ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
    ...(again === null ? {} : { execution_mode: again.mode }),
    ...(again === null || again.mode === 'on_change' ? {} : { interval_seconds: Math.round(again.hours * 3_600) }),
  }
}

function scopeOf({ datasets, platforms, languages, from, to }: AnalysisDraft): InputScope {
  const [source_platforms, spoken] = [listOf(platforms), listOf(languages)]
  return {
    dataset_ids: datasets,
    ...(source_platforms.length === 0 ? {} : { source_platforms }),
    ...(spoken.length === 0 ? {} : { languages: spoken }),
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
