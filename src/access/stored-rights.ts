import { parseTime } from '../platform/time.ts'
import type { EntitlementInput } from './entitlement.ts'
import { quotaOperations } from './operations.ts'
import type { Policy, QuotaName } from './policy.ts'
import { isRole, type Role } from './roles.ts'

/**
 * Validates the rights that are read from the store. They were validated when they were written, but an edit in the
 * database, a damaged disk or a newer release may have left values that this release cannot read. Such a value must not
 * count as "any". Only the form is validated (types, times, no unknown name), because the limits may have been
 * different at the time of writing.
 *
 * The shapes repeat the schemas, and the compiler checks that the two agree. The schema library is not used here,
 * because loading it would take most of the start time of every thread that reads the store.
 */
type Shape =
  | 'text'
  | 'time'
  | 'switch'
  | 'number'
  | readonly [Shape]
  | { readonly required: readonly string[]; readonly fields: Readonly<Record<string, Shape>> }

type ShapeOf<T> = [T] extends [string]
  ? 'text' | 'time'
  : [T] extends [boolean]
    ? 'switch'
    : [T] extends [number]
      ? 'number'
      : T extends readonly (infer One)[]
        ? readonly [ShapeOf<One>]
        : {
            readonly required: readonly RequiredName<T>[]
            readonly fields: { readonly [Name in keyof T]-?: ShapeOf<NonNullable<T[Name]>> }
          }
type RequiredName<T> = { [Name in keyof T]-?: undefined extends T[Name] ? never : Name }[keyof T]

const policyShape = {
  required: [],
  fields: {
    analysis_enabled: 'switch',
    requests_per_second: 'number',
    burst: 'number',
    max_in_flight: 'number',
    daily_quotas: {
      required: [],
      fields: Object.fromEntries(Object.values(quotaOperations).map((name) => [name, 'number'])) as Record<
        QuotaName,
        'number'
      >,
    },
    live: {
      required: [],
      fields: {
        enabled: 'switch',
        max_items_per_platform: 'number',
        max_concurrent: 'number',
        requests_per_minute: 'number',
      },
    },
    analysis: {
      required: [],
      fields: { max_input_chunks: 'number', max_concurrent_runs: 'number', types: ['text'], scheduling: 'switch' },
    },
  },
} as const satisfies ShapeOf<Policy>

const entitlementShape = {
  required: ['datasets'],
  fields: {
    datasets: ['text'],
    platforms: ['text'],
    languages: ['text'],
    regions: ['text'],
    published_from: 'time',
    published_to: 'time',
    fields: ['text'],
  },
} as const satisfies ShapeOf<EntitlementInput>

export class UnreadableRights extends Error {
  constructor(of: string, fault: string) {
    super(`the ${of} in the store cannot be read: ${fault}`)
    this.name = 'UnreadableRights'
  }
}

export const policyFault = (value: unknown): string | null => shapeFault(policyShape, value, '')
export const entitlementFault = (value: unknown): string | null => shapeFault(entitlementShape, value, '')

export function storedPolicy(json: string, applicationId: string): Policy {
  return read(json, policyFault, `policy of ${applicationId}`) as Policy
}

export function storedEntitlement(json: string, entitlementId: string): EntitlementInput {
  return read(json, entitlementFault, `entitlement ${entitlementId}`) as EntitlementInput
}

/** Null means every dataset. */
export function storedDatasets(json: string | null, collectorId: string): readonly string[] | null {
  const fault = (value: unknown) => shapeFault(['text'], value, '')
  return json === null ? null : (read(json, fault, `list of datasets of ${collectorId}`) as string[])
}

export const roleFault = (value: unknown): string | null =>
  shapeFault({ required: ['role'], fields: { role: 'text' } }, value, '') ??
  (isRole((value as { role: string }).role) ? null : 'role is not known to this version')

export function storedRole(json: string | null, tokenId: string): Role {
  return (read(json ?? 'null', roleFault, `rights of ${tokenId}`) as { role: Role }).role
}

function read(json: string, faultOf: (value: unknown) => string | null, of: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch {
    throw new UnreadableRights(of, 'it is not JSON')
  }
  const fault = faultOf(value)
  if (fault !== null) throw new UnreadableRights(of, fault)
  return value
}

function shapeFault(shape: Shape, value: unknown, path: string): string | null {
  const here = path === '' ? 'it' : path
  switch (shape) {
    case 'text':
      return typeof value === 'string' ? null : `${here} is not a string`
    case 'time':
      if (typeof value !== 'string') return `${here} is not a string`
      return parseTime(value) === null ? `${here} is not a time` : null
    case 'switch':
      return typeof value === 'boolean' ? null : `${here} is neither true nor false`
    case 'number':
      return Number.isFinite(value) ? null : `${here} is not a number`
  }
  if ('fields' in shape) {
    const { required, fields } = shape
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return `${here} is not an object`
    const missing = required.find((name) => !Object.hasOwn(value, name))
    if (missing !== undefined) return `${below(path, missing)} is missing`
    return firstFault(Object.entries(value), ([name, one]) =>
      Object.hasOwn(fields, name)
        ? shapeFault(fields[name]!, one, below(path, name))
        : `${below(path, name)} is not known to this version`,
    )
  }
  if (!Array.isArray(value)) return `${here} is not a list`
  return firstFault(value, (one, i) => shapeFault(shape[0], one, below(path, String(i))))
}

function firstFault<T>(values: readonly T[], faultOf: (value: T, i: number) => string | null): string | null {
  for (const [i, value] of values.entries()) {
    const fault = faultOf(value, i)
    if (fault !== null) return fault
  }
  return null
}

const below = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`)
