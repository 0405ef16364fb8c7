import { type FieldRow, fieldRows, opensField } from '../document/rows.ts'
import { type FieldPermission, fieldPermissions } from './scope.ts'

const rowOf: ReadonlyMap<string, FieldRow> = new Map(fieldRows.map((row) => [row.name, row]))

/**
 * The permissions that open an event, stored with the event: a bit for each permission, and three more.
 *
 * anyone: every reader of the document gets the event.
 *
 * withoutMetrics: a reader without `metrics` gets the event too, as an update of `observed_at`. All others see the
 * metrics of the same observation.
 *
 * moved: the language, region or time of the document changed, so readers of the earlier values get the event too.
 */
export const openedBy = { anyone: 1, withoutMetrics: 128, moved: 256 } as const

const bits = Object.fromEntries(fieldPermissions.map((name, i) => [name, 2 << i])) as Record<FieldPermission, number>

/** Returns the bits of a reader who may read these fields. */
export function bitsOf(fields: Iterable<FieldPermission>): number {
  let mask = openedBy.anyone as number
  let hasMetrics = false
  for (const field of fields) {
    mask |= bits[field]
    if (field === 'metrics') hasMetrics = true
  }
  return hasMetrics ? mask : mask | openedBy.withoutMetrics
}

/** Returns the bits of the permissions that open any of these fields. */
export function bitsThatOpen(names: readonly string[]): number {
  let mask = 0
  for (const name of names) {
    const permissions = rowOf.get(name)?.openedBy
    if (permissions === undefined) return openedBy.anyone
    for (const permission of permissions) mask |= bits[permission]
  }
  return mask
}

/**
 * Whether a reader may see the name of a changed field. The name of a field of an earlier release is always readable.
 */
export function isReadableField(name: string, fields: ReadonlySet<FieldPermission>): boolean {
  const row = rowOf.get(name)
  return row === undefined || opensField(row, fields)
}
