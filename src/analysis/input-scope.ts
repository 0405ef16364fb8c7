import { type Static, Type } from 'typebox'
import { type Access, compileScope } from '../access/compile-scope.ts'
import type { FieldPermission, Scope, ScopeEntry } from '../access/scope.ts'
import type { ErrorDetail } from '../platform/errors.ts'
import { isWrongInterval } from '../platform/time.ts'
import { choice, Languages, named, printablePattern, readOnce } from '../platform/validation.ts'
import { analysisLimits } from './limits.ts'

const codes = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 128, pattern: printablePattern }), {
    minItems: 1,
    maxItems: analysisLimits.listValuesMax,
    [readOnce]: true,
    description,
  })
const time = (description: string) => Type.Optional(Type.String({ format: 'date-time', description }))

/** The input of a run or a subscription, returned as the caller sent it. */
export const InputScope = named(
  'AnalysisInputScope',
  Type.Object(
    {
      dataset_ids: codes('At least one dataset.'),
      source_platforms: Type.Optional(codes('Only these platforms.')),
      languages: Type.Optional(Languages),
      regions: Type.Optional(codes('Only these regions.')),
      content_types: Type.Optional(codes('Only these content types.')),
      subject_types: Type.Optional(
        Type.Array(choice(['chunk']), {
          minItems: 1,
          maxItems: 1,
          [readOnce]: true,
          description: 'What is analysed. Only `chunk` exists.',
        }),
      ),
      published_from: time('Only documents published at this time or later.'),
      published_to: time('Only documents published before this time.'),
      created_from: time('Only documents first ingested at this time or later.'),
      created_to: time('Only documents first ingested before this time.'),
    },
    {
      additionalProperties: false,
      description:
        'Values within a list are combined with OR, conditions with AND. The scope can only narrow the entitlements of the application.',
    },
  ),
)
export type InputScope = Static<typeof InputScope>

/** Returns the first fault that the schema cannot detect; null if there is none. */
export function faultOf(scope: InputScope): ErrorDetail | null {
  for (const name of ['published', 'created'] as const) {
    if (isWrongInterval(scope[`${name}_from`], scope[`${name}_to`])) {
      return { path: `input_scope.${name}_to`, message: `must be after ${name}_from` }
    }
  }
  return null
}

const pathOf: Readonly<Record<string, string>> = {
  datasets: 'input_scope.dataset_ids',
  platforms: 'input_scope.source_platforms',
  languages: 'input_scope.languages',
  regions: 'input_scope.regions',
}

/** The permissions that an input must have. Any one member satisfies a group. */
export type Needs = readonly (readonly FieldPermission[])[]

/** Vectors are computed from the body, so the body must be readable. */
export const needsOfVectors: Needs = [['body']]

/** Returns the part of the input that the entries open, or why it is refused. */
export function accessTo(scope: InputScope, entries: readonly ScopeEntry[], needs: Needs): Access {
  const access = compileScope(entries, {
    datasets: scope.dataset_ids,
    platforms: scope.source_platforms ?? null,
    languages: scope.languages ?? null,
    regions: scope.regions ?? null,
    needs,
  })
  return access.allowed || access.path === null ? access : { ...access, path: pathOf[access.path] ?? null }
}

/**
 * Returns the current entries that can still open part of an earlier scope; null if no document can be in both. The
 * earlier scope already has the named values, so current entries are only checked for permissions. An application that
 * loses one of two datasets gets a narrower input.
 */
export function stillOpen(earlier: Scope, entries: readonly ScopeEntry[], needs: Needs): Scope | null {
  const today = compileScope(entries, { needs })
  if (!today.allowed) return null
  const kept = today.scope.entries.filter((entry) => earlier.entries.some((other) => canMeet(entry, other)))
  return kept.length === 0 ? null : { entries: kept }
}

/** Whether one document can match both entries. */
function canMeet(a: ScopeEntry, b: ScopeEntry): boolean {
  const share = (left: readonly string[] | null, right: readonly string[] | null): boolean =>
    left === null || right === null || left.some((value) => right.includes(value))
  const from = Math.max(a.publishedFrom ?? -Infinity, b.publishedFrom ?? -Infinity)
  const to = Math.min(a.publishedTo ?? Infinity, b.publishedTo ?? Infinity)
  return (
    share(a.datasets, b.datasets) &&
    share(a.platforms, b.platforms) &&
    share(a.languages, b.languages) &&
    share(a.regions, b.regions) &&
    from < to
  )
}
