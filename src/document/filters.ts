import { type TSchema, Type } from 'typebox'
import type { ErrorDetail } from '../platform/errors.ts'
import { exactPattern } from '../platform/validation.ts'
import type { Conditions, NumberRange } from './field-types.ts'
import type { FieldPermission } from './fields.ts'
import { conditionOf, type FilterRow, facetRows, filterRows } from './rows.ts'

/**
 * The filters of listings and keyword searches: their parameters, the rules that a schema cannot express, and the
 * permissions that they need. All of it is derived from the table of document fields.
 */

/** The parameters of a request, by name. Lists are already split. */
export type ParameterValues = Readonly<Record<string, unknown>>

export const parameterNamesOf = ({ kind, filter: { parameter } }: FilterRow): readonly string[] =>
  kind === 'integer' ? [`${parameter}_min`, `${parameter}_max`] : [parameter]

/** The names of parameters that are lists of texts. */
export const listFilterNames = filterRows
  .filter(({ kind, filter }) => kind !== 'integer' && !filter.needsPlatform)
  .map(({ filter }) => filter.parameter)

/**
 * The schema of each parameter. `listOf` makes the schema of a list of texts. `lead` starts each description.
 * `platformsName` is the parameter for platforms; if it is null, filters that need a platform are left out.
 */
export function filterSchemas(
  lead: string,
  platformsName: string | null,
  listOf: (description: string) => TSchema,
): Record<never, never> {
  const schemas: [string, TSchema][] = filterRows.flatMap((row): [string, TSchema][] => {
    const { kind, filter, openedBy = [] } = row
    const needs = openedBy.length === 0 ? '' : ` Needs ${openedBy.map((name) => `\`${name}\``).join(' or ')}.`
    if (kind === 'integer') {
      return parameterNamesOf(row).map((name) => {
        const bound = name.endsWith('_min') ? 'minimum' : 'maximum'
        return [name, wholeNumber(`${lead}documents with this ${bound} ${filter.label}, inclusive.${needs}`)]
      })
    }
    if (filter.needsPlatform) {
      if (platformsName === null) return []
      const description = `${lead}documents by this ${filter.label}. Needs exactly one value in \`${platformsName}\`.${needs}`
      return [[filter.parameter, Type.Optional(Type.String({ ...exact, description }))]]
    }
    return [
      [
        filter.parameter,
        listOf(`${lead}documents with one of these ${filter.label}, matched exactly, including case.${needs}`),
      ],
    ]
  })
  return Object.fromEntries(schemas)
}

const exact = { minLength: 1, maxLength: 512, pattern: exactPattern } as const

/** Without bounds, "Infinity" in a query string would be accepted as a whole number. */
const wholeNumber = (description: string) =>
  Type.Optional(Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER, description }))

/** A list of texts in a JSON body. */
export const filterTexts = (description: string, readOnce: object) =>
  Type.Optional(Type.Array(Type.String(exact), { minItems: 1, maxItems: 200, ...readOnce, description }))

export function filterFaults(
  values: ParameterValues,
  platforms: readonly string[] | null,
  platformsName: string,
): ErrorDetail[] {
  return filterRows.flatMap((row): ErrorDetail[] => {
    const [name, maxName] = parameterNamesOf(row) as [string, string | undefined]
    if (row.filter.needsPlatform && isPresent(values, name) && platforms?.length !== 1) {
      return [{ path: name, message: `needs exactly one value in ${platformsName}` }]
    }
    const range = maxName === undefined ? null : rangeIn(values, name, maxName)
    const isReversed = range !== null && range.min !== null && range.max !== null && range.min > range.max
    return isReversed ? [{ path: name, message: `must not be greater than ${maxName}` }] : []
  })
}

/** The conditions of a request. Their order is fixed, because a cursor is bound to them. */
export function conditionsIn(values: ParameterValues): Conditions {
  return Object.fromEntries(
    filterRows.flatMap((row) => {
      const [name, maxName] = parameterNamesOf(row) as [string, string | undefined]
      const found = maxName === undefined ? textsIn(values, name) : rangeIn(values, name, maxName)
      return found === null ? [] : [[row.property, found]]
    }),
  )
}

const isPresent = (values: ParameterValues, name: string): boolean =>
  values[name] !== undefined && values[name] !== null

function textsIn(values: ParameterValues, name: string): readonly string[] | null {
  const found = values[name] as string | readonly string[] | null | undefined
  return typeof found === 'string' ? [found] : (found ?? null)
}

function rangeIn(values: ParameterValues, minName: string, maxName: string): NumberRange | null {
  const [min, max] = [minName, maxName].map((name) => (values[name] ?? null) as number | null) as [
    number | null,
    number | null,
  ]
  return min === null && max === null ? null : { min, max }
}

/** The permissions that conditions need. Each entry must grant all of them. */
export const needsOf = (conditions: Conditions): readonly (readonly FieldPermission[])[] =>
  filterRows.flatMap((row) =>
    row.openedBy === undefined || conditionOf(conditions, row) === undefined ? [] : [row.openedBy],
  )

/** The first parameter of the request that needs each permission, so that an error can name it. */
export function parametersByNeed(values: ParameterValues): Readonly<Record<string, string>> {
  const names: Record<string, string> = {}
  for (const row of filterRows) {
    const name = parameterNamesOf(row).find((one) => isPresent(values, one))
    if (row.openedBy !== undefined && name !== undefined) names[row.openedBy.join(' or ')] ??= name
  }
  return names
}

/** Says which permission each facet needs, as in "`topics` and `tags` need `metadata`". */
export function permissionsNeeded(facets: readonly string[]): string {
  const guarded = facetRows.filter(({ facet, openedBy }) => facets.includes(facet) && openedBy !== undefined)
  const byNeed = Map.groupBy(guarded, ({ openedBy }) => openedBy!.map((name) => `\`${name}\``).join(' or '))
  return Array.from(byNeed, ([need, rows]) => {
    const names = rows.map(({ facet }) => `\`${facet}\``).join(' and ')
    return `${names} ${rows.length === 1 ? 'needs' : 'need'} ${need}`
  }).join(', ')
}
