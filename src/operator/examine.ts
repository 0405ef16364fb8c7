import { access, constants, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { entitlementFault, policyFault, roleFault } from '../access/stored-rights.ts'
import { artifactFolder } from '../platform/data-folder.ts'
import { diskSpace, reserveSpent } from '../platform/disk-space.ts'
import { dayMs } from '../platform/time.ts'
import { isToken } from './operator.ts'
import type { OperatorStore } from './operator-store.ts'

/** The result of one check, with advice if there is a problem. */
export interface Finding {
  readonly state: 'ok' | 'warning' | 'failure'
  readonly about: string
  readonly advice: string | null
}

const expiresSoonMs = 7 * dayMs
const nodeMajorNeeded = 26
const namesShown = 5

export const ok = (about: string): Finding => ({ state: 'ok', about, advice: null })
export const warning = (about: string, advice: string): Finding => ({ state: 'warning', about, advice })
export const failure = (about: string, advice: string): Finding => ({ state: 'failure', about, advice })

export function examineRuntime(): Finding {
  const major = Number(process.versions.node.split('.')[0])
  return major >= nodeMajorNeeded
    ? ok(`node ${process.versions.node}`)
    : failure(
        `node ${process.versions.node} is too old`,
        `run through npm (npm run tidemark -- …), which brings node ${nodeMajorNeeded}`,
      )
}

/** The checks of the data folder, each with its subject. They change nothing. */
export const examineFolder = (dataDir: string): readonly (readonly [string, () => Promise<readonly Finding[]>])[] => [
  ['the data folder', async () => [await examineUse(dataDir)]],
  ['the disk of the data folder', () => ifFolder(dataDir, examineDisk)],
  ['who else can read the data folder', () => ifFolder(dataDir, examinePermissions)],
]

async function examineUse(dataDir: string): Promise<Finding> {
  const folder = await statOrNull(dataDir)
  if (folder === null) {
    return warning(`data folder ${dataDir} does not exist yet`, 'tidemark serve creates it; or set TIDEMARK_DATA_DIR')
  }
  if (!folder.isDirectory()) {
    return failure(`data folder ${dataDir} is not a folder`, 'set TIDEMARK_DATA_DIR to a folder')
  }
  const writable = await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
  return writable
    ? ok(`data folder ${dataDir} can be read and written`)
    : failure(
        `data folder ${dataDir} is not writable`,
        'give this user read and write permission, make sure that its disk is not mounted read-only, or set TIDEMARK_DATA_DIR',
      )
}

/** A missing folder has no findings here, because `examineUse` reports it. */
const ifFolder = async (
  path: string,
  examine: (path: string) => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> => ((await statOrNull(path))?.isDirectory() ? examine(path) : [])

/** Returns `value` if the error says that a file is missing. Rethrows any other error. */
const ifMissing =
  <T>(value: T) =>
  (error: NodeJS.ErrnoException): T => {
    if (error.code === 'ENOENT') return value
    throw error
  }

const statOrNull = (path: string) => stat(path).catch(ifMissing(null))

/** Anyone who can read these files can bypass all entitlements. */
async function examinePermissions(dataDir: string): Promise<readonly Finding[]> {
  const artifacts = (await namesIn(join(dataDir, artifactFolder))).map((name) => join(artifactFolder, name))
  const open: string[] = []
  for (const name of ['.', ...(await namesIn(dataDir)), ...artifacts]) {
    const found = await statOrNull(join(dataDir, name))
    if (found !== null && (found.mode & 0o077) !== 0) open.push(name)
  }
  if (open.length === 0) return [ok('the data folder is closed to other users')]
  const shown = open.slice(0, namesShown).join(', ')
  const more = open.length > namesShown ? `, and ${open.length - namesShown} more` : ''
  return [
    warning(
      `the data folder is open to other users of this machine: ${shown}${more}`,
      `chmod -R go= ${JSON.stringify(dataDir)}`,
    ),
  ]
}

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(ifMissing<string[]>([]))

async function examineDisk(dataDir: string): Promise<readonly Finding[]> {
  const { state, free, isReserveSpent } = await diskSpace(dataDir)
  const room = {
    enough: ok(`${free} on its disk`),
    low: warning(`only ${free} on its disk`, 'free up space: writes are refused when the disk is full'),
    full: failure(
      `the disk of ${dataDir} is full: ${free}`,
      'free up space: until then every write is answered with 503 storage_full; reads still work',
    ),
  }[state]
  if (!isReserveSpent) return [room]
  return [room, warning(reserveSpent, 'free up space: the next successful write fills it up again')]
}

/** Reports on a store with another schema version; null if it has this version, or this version cannot open it. */
export function examineSchema(found: number, breaking: number, newest: number): Finding | null {
  if (found === 0) return warning('no store yet', 'tidemark serve or tidemark migrate creates it')
  if (found === newest || breaking > newest) return null
  if (found > newest) {
    return warning(
      `the store was upgraded by a newer version (schema ${found}, this version knows ${newest}), but this version can still use it`,
      'finish the upgrade: start every process with the newer version',
    )
  }
  return warning(
    `the store is of an older version (schema ${found}, this version has ${newest}): nothing else in it was checked`,
    'make a backup (tidemark backup), then run tidemark migrate or start the server to upgrade it',
  )
}

/** Checks the contents of the store. Changes nothing. */
export async function examineAccess(store: Omit<OperatorStore, 'commit'>): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  const datasets = new Set((await store.datasets()).map((one) => one.datasetId))
  const applications = await store.applications()
  const keys = await store.keys({})
  findings.push(
    datasets.size > 0
      ? ok(`datasets: ${datasets.size}`)
      : warning('no dataset yet', 'create one in the console (Datasets), or with tidemark apply FILE'),
  )
  findings.push(
    applications.length > 0
      ? ok(`applications: ${applications.length}`)
      : warning('no application yet', 'create one: tidemark app create NAME --dataset ID'),
  )
  const now = Date.now()
  for (const application of applications) {
    const named = `application "${application.name}" (${application.applicationId})`
    const faults = [
      {
        of: 'its policy',
        fault: policyFault(application.policy),
        advice: 'PATCH its policy; null removes a field',
      },
      ...application.entitlements.map(({ entitlement_id, ...entry }) => ({
        of: entitlement_id,
        fault: entitlementFault(entry),
        advice: 'PUT its entitlements again',
      })),
    ]
    for (const { of, fault, advice } of faults) {
      if (fault !== null) {
        findings.push(failure(`${named} is refused, because ${of} cannot be read: ${fault}`, advice))
      }
    }
    if (application.entitlements.length === 0) {
      findings.push(
        warning(`${named} has no entitlements: it can read nothing`, 'PUT its entitlements, or revoke its keys'),
      )
    }
    const unknown = new Set(
      application.entitlements
        .filter(({ entitlement_id: _, ...entry }) => entitlementFault(entry) === null)
        .flatMap((entry) => entry.datasets)
        .filter((id) => !datasets.has(id)),
    )
    if (unknown.size > 0) {
      findings.push(
        warning(
          `${named} is entitled to datasets that do not exist: ${[...unknown].join(', ')}`,
          'check the spelling, or create them',
        ),
      )
    }
    const own = keys.filter((key) => key.owner.id === application.applicationId && key.revokedAt === null)
    const valid = own.filter((key) => key.expiresAt === null || key.expiresAt > now)
    if (valid.length === 0)
      findings.push(warning(`${named} has no valid key`, `tidemark key create ${application.applicationId}`))
    for (const key of valid) {
      if (key.expiresAt !== null && key.expiresAt - now < expiresSoonMs) {
        findings.push(warning(`key ${key.keyId} of ${named} expires within a week`, `tidemark key rotate ${key.keyId}`))
      }
    }
  }
  for (const token of keys.filter((key) => isToken(key) && key.revokedAt === null)) {
    const named = `admin token "${token.name}" (${token.keyId})`
    const fault = roleFault(token.rights)
    if (fault !== null) {
      const advice = `tidemark admin revoke ${token.keyId}, then tidemark admin create`
      findings.push(failure(`${named} is refused, because its rights cannot be read: ${fault}`, advice))
    }
    if (token.expiresAt !== null && token.expiresAt > now && token.expiresAt - now < expiresSoonMs) {
      findings.push(warning(`${named} expires within a week`, 'tidemark admin create makes a new one'))
    }
  }
  return findings
}
