import { type FieldRow, fieldRows, opensField } from '../document/rows.ts'
import { type FieldPermission, fieldPermissions } from './scope.ts'

const rowOf: ReadonlyMap<string, FieldRow> = new Map(fieldRows.map((row) => [row.name, row]))

/**
 * The permissions that open an event, stored with the event: a bit for each permission, and three more.
 *
 * anyone: every reader of the document gets the event.
 *
 * lessMetrics: a reader without `metrics` gets it too, as an update of `observed_at`. All others see the metrics of the
 * same observation.
 *
 * moved: the document was in another language, region or time before, so those who could read it then get the event too.
 */
export const openedBy = { anyone: 1, lessMetrics: 128, moved: 256 } as const

const bits = Object.fromEntries(fieldPermissions.map((name, i) => [name, 2 << i])) as Record<FieldPermission, number>

/** Returns the bits of a reader who may read these fields. */
export function bitsOf(fields: Iterable<FieldPermission>): number {
  let mask = openedBy.anyone as number
  let hasMetrics = false
  for (const field of fields) {
    mask |= bits[field]
    if (field === 'metrics') hasMetrics = true
  }
  return hasMetrics ? mask : mask | openedBy.lessMetrics
}

/** Returns the bits that open at least one of these names. */
export function bitsThatOpen(names: readonly string[]): number {
  let mask = 0
  for (const name of names) {
    const permissions = rowOf.get(name)?.openedBy
    if (permissions === undefined) return openedBy.anyone
    for (const permission of permissions) mask |= bits[permission]
  }
  return mask
}

/** An earlier release may have named a field that no longer exists. It is readable with every document. */
export function isReadableField(name: string, fields: ReadonlySet<FieldPermission>): boolean {
  const row = rowOf.get(name)
  return row === undefined || opensField(row, fields)
}
