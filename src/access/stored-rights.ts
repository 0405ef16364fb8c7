import { parseTime } from '../time.ts'
import { EntitlementInput } from './entitlement.ts'
import { Policy } from './policy.ts'

/**
 * Rights as they stand in the store. They were checked when they were written; but a hand in the database, a damaged disk
 * or a newer version may have left what this one cannot read, and what is not understood must not be taken for "any".
 * Only the shape is looked at (types, times, no unknown name): bounds may have been others when it was written.
 */
export class UnreadableRights extends Error {
  constructor(of: string, fault: string) {
    super(`the ${of} in the store cannot be read: ${fault}`)
    this.name = 'UnreadableRights'
  }
}

export const policyFault = (value: unknown): string | null => shapeFault(Policy, value, '')
export const entitlementFault = (value: unknown): string | null => shapeFault(EntitlementInput, value, '')

export function storedPolicy(json: string, applicationId: string): Policy {
  return read(json, policyFault, `policy of ${applicationId}`) as Policy
}

export function storedEntitlement(json: string, entitlementId: string): EntitlementInput {
  return read(json, entitlementFault, `entitlement ${entitlementId}`) as EntitlementInput
}

/** Null: every dataset. */
export function storedDatasets(json: string | null, collectorId: string): readonly string[] | null {
  const list = { type: 'array', items: { type: 'string' } }
  const fault = (value: unknown) => shapeFault(list, value, '')
  return json === null ? null : (read(json, fault, `list of datasets of ${collectorId}`) as string[])
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

/** What is used of a schema. */
interface Shape {
  readonly type?: string
  readonly format?: string
  readonly items?: Shape
  readonly properties?: Readonly<Record<string, Shape>>
  readonly required?: readonly string[]
}

function shapeFault(schema: object, value: unknown, path: string): string | null {
  const shape: Shape = schema
  const here = path === '' ? 'it' : path
  switch (shape.type) {
    case 'object': {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return `${here} is no object`
      const missing = shape.required?.find((name) => !Object.hasOwn(value, name))
      if (missing !== undefined) return `${below(path, missing)} is missing`
      return firstFault(Object.entries(value), ([name, one]) => {
        const known = Object.hasOwn(shape.properties ?? {}, name) ? shape.properties![name]! : null
        return known === null
          ? `${below(path, name)} is not known to this version`
          : shapeFault(known, one, below(path, name))
      })
    }
    case 'array':
      if (!Array.isArray(value)) return `${here} is no list`
      return firstFault(value, (one, i) => shapeFault(shape.items!, one, below(path, String(i))))
    case 'string':
      if (typeof value !== 'string') return `${here} is no text`
      return shape.format === 'date-time' && parseTime(value) === null ? `${here} is no time` : null
    case 'boolean':
      return typeof value === 'boolean' ? null : `${here} is neither true nor false`
    case 'number':
    case 'integer':
      return Number.isFinite(value) ? null : `${here} is no number`
    default:
      throw new Error(`rights have no values of the type ${shape.type}`)
  }
}

function firstFault<T>(values: readonly T[], faultOf: (value: T, i: number) => string | null): string | null {
  for (const [i, value] of values.entries()) {
    const fault = faultOf(value, i)
    if (fault !== null) return fault
  }
  return null
}

const below = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`)
