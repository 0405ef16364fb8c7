import { isDeepStrictEqual } from 'node:util'
import type { Application, Change, Collector, Key } from './operator-store.ts'

/** The owners and keys of an instance. */
export interface Access {
  readonly applications: readonly Application[]
  readonly collectors: readonly Collector[]
  readonly keys: readonly Key[]
  /** Keys that sign cursors. */
  readonly signingKeyIds: readonly string[]
}

/** The access that a restore brings back, and the access that it removes. */
export interface CarriedOver {
  /** Valid in the backup only. They stay revoked or expired, as in the instance. */
  readonly keptRevoked: readonly Key[]
  /** Valid longer in the backup than in the instance. They keep the expiry of the instance. */
  readonly keptEarlierExpiry: readonly Key[]
  /** Valid in the backup and unknown to the instance. */
  readonly revivedKeys: readonly Key[]
  readonly revivedApplications: readonly Application[]
  readonly revivedCollectors: readonly Collector[]
  readonly revivedSigningKeys: number
  /** Owners whose rights are reset to those of the backup, with the differences. */
  readonly changed: readonly { readonly id: string; readonly name: string; readonly what: readonly string[] }[]
  /** Valid until now, and not in the backup. */
  readonly lostKeys: readonly Key[]
}

/**
 * A restore must not undo the revocation or expiry of a key. This function decides what is carried over from the
 * replaced instance to the restored one: only revocations and earlier expiries. All other differences are reported.
 */
export function carryOver(
  instance: Access,
  backup: Access,
  nowMs: number,
): { readonly changes: readonly Change[]; readonly carried: CarriedOver } {
  const known = new Map(instance.keys.map((key) => [key.keyId, key]))
  const changes: Change[] = []
  const keptRevoked: Key[] = []
  const keptEarlierExpiry: Key[] = []
  const revivedKeys: Key[] = []
  for (const key of backup.keys) {
    const before = known.get(key.keyId)
    if (before === undefined) {
      if (isValid(key, nowMs)) revivedKeys.push(key)
      continue
    }
    const earlier = { ...key, expiresAt: earliest(before.expiresAt, key.expiresAt) }
    if (before.revokedAt !== null && key.revokedAt === null) {
      changes.push({ kind: 'key.revoke', keyId: key.keyId, revokedAt: before.revokedAt })
    }
    if (earlier.expiresAt !== null && earlier.expiresAt !== key.expiresAt) {
      changes.push({ kind: 'key.expire', keyId: key.keyId, expiresAt: earlier.expiresAt })
    }
    if (!isValid(key, nowMs)) continue
    if (before.revokedAt !== null || !isValid(earlier, nowMs)) keptRevoked.push(key)
    else if (earlier.expiresAt !== key.expiresAt) keptEarlierExpiry.push(earlier)
  }
  const inBackup = new Set(backup.keys.map(({ keyId }) => keyId))
  const signing = new Set(instance.signingKeyIds)
  const applications = new Map(instance.applications.map((one) => [one.applicationId, one]))
  const collectors = new Map(instance.collectors.map((one) => [one.collectorId, one]))
  return {
    changes,
    carried: {
      keptRevoked,
      keptEarlierExpiry,
      revivedKeys,
      revivedApplications: backup.applications.filter(({ applicationId }) => !applications.has(applicationId)),
      revivedCollectors: backup.collectors.filter(({ collectorId }) => !collectors.has(collectorId)),
      revivedSigningKeys: backup.signingKeyIds.filter((keyId) => !signing.has(keyId)).length,
      changed: [
        ...backup.applications.flatMap((one) => {
          const what = differingRights(applications.get(one.applicationId) ?? one, one)
          return what.length === 0 ? [] : [{ id: one.applicationId, name: one.name, what }]
        }),
        ...backup.collectors.flatMap((one) => {
          const before = collectors.get(one.collectorId) ?? one
          const same = isDeepStrictEqual(before.datasets, one.datasets)
          return same ? [] : [{ id: one.collectorId, name: one.name, what: ['datasets'] }]
        }),
      ],
      lostKeys: instance.keys.filter((key) => isValid(key, nowMs) && !inBackup.has(key.keyId)),
    },
  }
}

export const isValid = (key: Pick<Key, 'expiresAt' | 'revokedAt'>, nowMs: number): boolean =>
  key.revokedAt === null && (key.expiresAt === null || key.expiresAt > nowMs)

export const earliest = (one: number | null, other: number | null): number | null =>
  one === null ? other : other === null ? one : Math.min(one, other)

function differingRights(before: Application, after: Application): string[] {
  const entries = ({ entitlements }: Application) => entitlements.map(({ entitlement_id: _, ...entry }) => entry)
  return [
    ...(isDeepStrictEqual(before.policy, after.policy) ? [] : ['policy']),
    ...(isDeepStrictEqual(entries(before), entries(after)) ? [] : ['entitlements']),
  ]
}
