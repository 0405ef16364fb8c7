import { existsSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { BackupError, backupTimeOf, manifestPath } from '../operator/backup-manifest.ts'
import type { BackupPlace } from '../operator/backup-place.ts'
import { parseS3Address, type S3Address, s3AddressExpected } from '../settings/s3-address.ts'
import { folderOfBackups } from './files/backup-folder.ts'
import { bucketOfBackups } from './s3/backup-bucket.ts'

/** The bucket or folder of backups that a text names. No other code chooses it. */
export function backupPlaceOf(text: string): BackupPlace {
  const address = bucketOf(text)
  return address === null ? folderOfBackups(resolve(text)) : bucketOfBackups(address)
}

interface FoundBackup {
  readonly place: BackupPlace
  readonly name: string
  /** Null if the backup is in a bucket. */
  readonly folder: string | null
}

/** The backup that a text names, or the newest one if it names a folder or bucket of backups. */
export async function findBackup(text: string): Promise<FoundBackup> {
  const { place, name } = named(text)
  const found = name ?? (await place.names()).at(-1)
  if (found === undefined) throw new BackupError(`${place.name} is not a backup and contains none`)
  return { place, name: found, folder: bucketOf(text) === null ? join(place.name, found) : null }
}

function named(text: string): { readonly place: BackupPlace; readonly name: string | null } {
  const address = bucketOf(text)
  if (address === null) {
    const folder = resolve(text)
    const isBackup = backupTimeOf(basename(folder)) !== null || existsSync(manifestPath(folder))
    return isBackup
      ? { place: folderOfBackups(dirname(folder)), name: basename(folder) }
      : { place: folderOfBackups(folder), name: null }
  }
  const name = basename(address.prefix)
  if (backupTimeOf(name) === null) return { place: bucketOfBackups(address), name: null }
  return { place: bucketOfBackups({ ...address, prefix: address.prefix.slice(0, -name.length - 1) }), name }
}

function bucketOf(text: string): S3Address | null {
  if (!text.startsWith('s3:')) return null
  const address = parseS3Address(text)
  if (address === null || address.redirect !== null) throw new BackupError(`a bucket is named ${s3AddressExpected}`)
  return address
}
