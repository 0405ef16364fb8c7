import type { Key } from '../operator/operator-store.ts'
import type { RestoredAccess } from '../operator/restore-backup.ts'
import { formatTime } from '../platform/time.ts'

/** The maximum number of names shown of each kind. */
const namesMax = 50

/**
 * Describes to an operator who can use the restored instance. `recorded` is the number of entries in its record of
 * removals.
 */
export function accessInWords(access: RestoredAccess, madeAt: string, recorded: number): string[] {
  const repeats = `when the server starts, it applies its record of removals again (${recorded} entries)`
  if ('unknown' in access) {
    return [
      recorded > 0
        ? `${access.unknown}, so it could not say which keys were revoked and which documents erased after ${madeAt}: ${repeats}`
        : `${access.unknown}: keys revoked after ${madeAt} are valid again, and documents erased after it can be read again`,
      `valid keys and admin tokens: ${access.validKeys}; check tidemark key list and tidemark admin list, and revoke those that should not be valid`,
    ]
  }
  const { carried, erasedAgain } = access
  const sections: readonly [about: string, names: readonly string[]][] = [
    [
      'keys that stay revoked or expired, although they were valid when the backup was made',
      carried.keptRevoked.map(ofKey),
    ],
    [
      'keys that keep the expiry they were given after the backup',
      carried.keptEarlierExpiry.map((key) => `${ofKey(key)}, expires ${formatTime(key.expiresAt!)}`),
    ],
    ['valid keys that the replaced instance did not have', carried.revivedKeys.map(ofKey)],
    [
      'applications that the replaced instance did not have',
      carried.revivedApplications.map(({ applicationId, name }) => `${applicationId} "${name}"`),
    ],
    [
      'collectors that the replaced instance did not have',
      carried.revivedCollectors.map(({ collectorId, name }) => `${collectorId} "${name}"`),
    ],
    [
      'applications and collectors whose rights are reset to those of the backup',
      carried.changed.map(({ id, name, what }) => `${id} "${name}": ${what.join(' and ')}`),
    ],
    ['valid keys that are lost, because they were created after the backup', carried.lostKeys.map(ofKey)],
  ]
  const lines = sections.flatMap(([about, names]) =>
    names.length === 0 ? [] : [`${about}: ${names.length}`, ...firstNames(names)],
  )
  if (erasedAgain === null) {
    const then = recorded > 0 ? repeats : 'their documents may be readable again'
    lines.push(`erasures after ${madeAt} could not be read: ${then}`)
  } else if (erasedAgain > 0)
    lines.push(`documents erased again, because they were erased after the backup: ${erasedAgain}`)
  if (carried.revivedSigningKeys > 0) {
    lines.push(
      'cursors that the replaced instance no longer accepted are valid again; tidemark cursor-key rotate --drop-old invalidates them',
    )
  }
  return lines
}

const firstNames = (names: readonly string[]): string[] => [
  ...names.slice(0, namesMax).map((name) => `  ${name}`),
  ...(names.length > namesMax ? [`  and ${names.length - namesMax} more`] : []),
]

const ofKey = ({ keyId, name, prefix, owner }: Key): string =>
  `${keyId}${name === null ? '' : ` "${name}"`} (${prefix}…) of ${owner.id === keyId ? 'an administrator' : owner.id}`
