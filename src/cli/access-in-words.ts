import type { Key } from '../operator/operator-store.ts'
import type { RestoredAccess } from '../operator/restore-backup.ts'
import { formatTime } from '../time.ts'

/** Names shown of each kind; whoever has more than that looks into the lists. */
const namesMax = 50

/** What an operator must know of who may use the restored instance. */
export function accessInWords(access: RestoredAccess, madeAt: string): string[] {
  if ('unknown' in access) {
    return [
      `${access.unknown}: what was revoked after ${madeAt} cannot be known, and is valid again; what was erased after it is there again`,
      `valid keys: ${access.validKeys}; look through tidemark key list, and revoke those that should not be`,
    ]
  }
  const { carried, erasedAgain } = access
  const sections: readonly [about: string, names: readonly string[]][] = [
    [
      'keys that stay revoked or expired, though they were valid at the time of the backup',
      carried.keptRevoked.map(ofKey),
    ],
    [
      'keys that end when it was said after the backup',
      carried.keptEnding.map((key) => `${ofKey(key)}, ends ${formatTime(key.expiresAt!)}`),
    ],
    ['valid keys that the instance here did not have', carried.revivedKeys.map(ofKey)],
    [
      'applications that the instance here did not have',
      carried.revivedApplications.map(({ applicationId, name }) => `${applicationId} "${name}"`),
    ],
    [
      'collectors that the instance here did not have',
      carried.revivedCollectors.map(({ collectorId, name }) => `${collectorId} "${name}"`),
    ],
    [
      'whose rights were others here, and are those of the backup again',
      carried.changed.map(({ id, name, what }) => `${id} "${name}": ${what.join(' and ')}`),
    ],
    ['valid keys that are gone, because they were made after the backup', carried.lostKeys.map(ofKey)],
  ]
  const lines = sections.flatMap(([about, names]) =>
    names.length === 0 ? [] : [`${about}: ${names.length}`, ...firstNames(names)],
  )
  if (erasedAgain === null) lines.push(`what was erased after ${madeAt} could not be read, and may be there again`)
  else if (erasedAgain > 0)
    lines.push(`documents that were erased after the backup, and are erased again: ${erasedAgain}`)
  if (carried.revivedSigningKeys > 0) {
    lines.push(
      'cursors that the instance here did not take are good again: tidemark cursor-key rotate --drop-old ends them',
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
