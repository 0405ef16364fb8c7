import { createHash, hash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { adminTokenFile, artifactEnding, artifactFolder, storeFile } from '../platform/data-folder.ts'
import { fileFault } from '../platform/file-fault.ts'
import { isId } from '../platform/ids.ts'
import { openRegular, readRegularText } from '../platform/regular-file.ts'
import { formatTime, parseTime } from '../platform/time.ts'

/**
 * A backup is a folder: `manifest.json`, which lists every other file with its size and checksum, and
 *
 *   tidemark.sqlite              the store
 *   admin-token.sha256           the hash of the admin token, if the data folder has one
 *   artifacts/ARTIFACT.parquet   results of analysis runs
 *
 * The search index is not included: the server rebuilds it from the store, with the vectors, when it next starts.
 */
export interface BackupManifest {
  readonly format: 1
  /** The version of Tidemark that made it. */
  readonly tidemark: string
  readonly made_at: string
  /** The number of the store's newest migration. */
  readonly schema: number
  /** Row counts of the store, for information. */
  readonly counts: Readonly<Record<string, number>>
  readonly files: readonly BackupFile[]
}

export interface BackupFile {
  /** The path within the backup, with slashes. */
  readonly path: string
  readonly bytes: number
  readonly sha256: string
}

export const manifestFile = 'manifest.json'

export const backupName = (madeAt: number): string =>
  `tidemark-backup-${formatTime(madeAt).slice(0, 19).replaceAll(':', '-')}Z`

/** Returns the time in the name of a backup; null for any other name. */
export function backupTimeOf(name: string): number | null {
  const found = /^tidemark-backup-(\d{4}-\d\d-\d\dT)(\d\d)-(\d\d)-(\d\d)Z$/.exec(name)
  return found === null ? null : parseTime(`${found[1]}${found[2]}:${found[3]}:${found[4]}Z`)
}

export const artifactPath = (artifactId: string): string => `${artifactFolder}/${artifactId}${artifactEnding}`

/** The progress of a backup or a restore in bytes; `total` is null if unknown. */
export interface BackupProgress {
  readonly step:
    | 'copying the store'
    | 'checking the copy'
    | 'copying artifacts'
    | 'sending the backup'
    | 'fetching the backup'
    | 'checking the backup'
    | 'restoring'
    | 'checking the restored store'
  readonly done: number
  readonly total: number | null
}

export type Report = (progress: BackupProgress) => void

/** Why a backup or a restore is not possible, as a sentence for the operator. */
export class BackupError extends Error {}

const checksumOf = (manifest: BackupManifest): string => hash('sha256', JSON.stringify(manifest))

/** The manifest with a checksum of itself. */
export function manifestText(manifest: BackupManifest): string {
  return `${JSON.stringify({ ...manifest, checksum: checksumOf(manifest) }, null, 2)}\n`
}

export const manifestPath = (folder: string): string => join(folder, manifestFile)

export async function readManifest(folder: string): Promise<BackupManifest> {
  const text = await readRegularText(manifestPath(folder)).catch((error: NodeJS.ErrnoException) => {
    throw new BackupError(
      error.code === 'ENOENT' || error.code === 'ENOTDIR'
        ? `${folder} is not a backup: it has no ${manifestFile}`
        : `${manifestPath(folder)}: ${fileFault(error)}`,
    )
  })
  const damaged = new BackupError(`the backup is damaged: its ${manifestFile} has changed; use another one`)
  let read: BackupManifest & { checksum?: unknown }
  try {
    read = JSON.parse(text)
  } catch {
    throw damaged
  }
  if (typeof read !== 'object' || read === null) throw damaged
  const { checksum, ...manifest } = read
  if (checksum !== checksumOf(manifest)) throw damaged
  if (manifest.format !== 1) {
    throw new BackupError(
      'the backup was made by a newer version of Tidemark, in another format: restore it with that version',
    )
  }
  if (!manifest.files.every(({ path }) => isOurs(path)) || !manifest.files.some(({ path }) => path === storeFile)) {
    throw damaged
  }
  return manifest
}

/** A manifest may be malicious, so only known file names become paths. */
const isOurs = (path: string): boolean => path === storeFile || path === adminTokenFile || artifactIdOf(path) !== null

/** Returns the artifact that a file contains; null for other files. */
export function artifactIdOf(path: string): string | null {
  const artifactId = path.slice(artifactFolder.length + 1, -artifactEnding.length)
  return isId('art', artifactId) && path === artifactPath(artifactId) ? artifactId : null
}

/** Reads every file of a backup. Throws at the first that does not match the manifest. */
export async function checkFiles(folder: string, manifest: BackupManifest, report: Report): Promise<void> {
  const total = totalBytes(manifest)
  let done = 0
  for (const file of manifest.files) {
    const path = join(folder, file.path)
    const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw new BackupError(`${path} cannot be read (${error.code})`)
    })
    if (found === null) throw new BackupError(`the backup is damaged: ${file.path} is missing; use another one`)
    const sha256 =
      found.size === file.bytes
        ? await sha256Of(path, (bytes) => {
            done += bytes
            report({ step: 'checking the backup', done, total })
          })
        : null
    if (sha256 !== file.sha256) {
      throw new BackupError(`the backup is damaged: ${file.path} has changed; use another one`)
    }
  }
}

export const totalBytes = ({ files }: BackupManifest): number => files.reduce((sum, { bytes }) => sum + bytes, 0)

export async function sha256Of(path: string, read: (bytes: number) => void = () => {}): Promise<string> {
  const digest = createHash('sha256')
  const file = await openRegular(path)
  await pipeline(file.createReadStream({ highWaterMark: 1 << 20 }), async (pieces) => {
    for await (const piece of pieces as AsyncIterable<Buffer>) {
      digest.update(piece)
      read(piece.length)
    }
  })
  return digest.digest('hex')
}
