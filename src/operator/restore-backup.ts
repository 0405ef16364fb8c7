/**
 * Replaces the contents of a data folder by a backup, all or nothing.
 *
 * 1. The folder is checked, then everything in the backup, before anything is changed.
 * 2. The backup is copied into `restore.partial` in the data folder, the store first, and artifacts as drafts beside
 *    the existing ones. Everything is checked again while it is copied. Keys that the replaced store has revoked or
 *    expired are revoked or expired in the copy, too (`carry-over.ts`).
 * 3. Artifacts are kept, which is harmless because the current store does not refer to them. The search index is
 *    removed, as it can be rebuilt from either store.
 * 4. The store is moved into place. This one rename completes the restore.
 * 5. The admin token's hash is moved into place. If the process ends between the two, `restore.partial` has a token and
 *    no store, and `finishRestore` moves the token at the next start.
 */
import { createHash } from 'node:crypto'
import { createWriteStream, existsSync } from 'node:fs'
import { lstat, mkdir, mkdtemp, readdir, realpath, rename, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { adminTokenFile, artifactFolder, restoreFolder, storeFile } from '../platform/data-folder.ts'
import { giveToOwner, makeFolder } from '../platform/folders.ts'
import { openRegular, readRegularText } from '../platform/regular-file.ts'
import {
  artifactIdOf,
  BackupError,
  type BackupFile,
  type BackupManifest,
  checkFiles,
  type Report,
  readManifest,
  totalBytes,
} from './backup-manifest.ts'
import type { CarriedOver } from './carry-over.ts'
import { removeHistoryMark } from './history-mark.ts'
import { syncFolder } from './make-backup.ts'

export interface RestoreParts {
  readonly dataDir: string
  readonly artifacts: {
    draftPath(artifactId: string): Promise<string>
    keep(artifact: { readonly artifactId: string; readonly bytes: number; readonly sha256: string }): Promise<void>
  }
  /** The newest schema that this version knows. */
  readonly newestSchema: number
  /** Throws if a process has the current store open. */
  readonly refuseInUse: () => void
  /** Removes the log files of the current store, which nobody has open. */
  readonly removeStoreLog: () => Promise<void>
  /** Prepares the copied store, before it is put in place, to continue from an earlier time. */
  readonly prepareStore: (path: string, manifest: BackupManifest) => Promise<RestoredAccess>
  readonly removeIndex: () => Promise<void>
}

/** How access to the restored instance differs from the replaced one, or why the replaced one could not be read. */
export type RestoredAccess = (
  | { readonly carried: CarriedOver }
  | { readonly unknown: string; readonly validKeys: number }
) & {
  /** Documents of the backup that were erased later, and are now erased again; null if unknown. */
  readonly erasedAgain: number | null
  /** Identifies the instance, and so its record of removals; null if nothing was ever changed in it. */
  readonly instance: string | null
}

export interface Restored {
  readonly manifest: BackupManifest
  readonly access: RestoredAccess
  /** The admin token differs from the previous one. */
  readonly tokenChanged: boolean
}

const staging = (dataDir: string): string => join(dataDir, restoreFolder)

/** The contents of an empty folder after an interrupted restore. */
const leftByRestore: readonly string[] = [restoreFolder, artifactFolder]

export async function restoreBackup(
  from: string,
  parts: RestoreParts,
  options: { readonly force: boolean },
  report: Report,
): Promise<Restored> {
  const { dataDir } = parts
  const manifest = await readManifest(from)
  if (manifest.schema > parts.newestSchema) {
    throw new BackupError(
      `the backup was made by a newer version of Tidemark (${manifest.tidemark}, schema ${manifest.schema}, this version knows ${parts.newestSchema}): restore it with that version`,
    )
  }
  await checkTarget(parts, options)
  await checkFiles(from, manifest, report)
  await makeFolder(dataDir)
  const staged = staging(dataDir)
  const artifacts = manifest.files.flatMap(({ path, bytes, sha256 }) => {
    const artifactId = artifactIdOf(path)
    return artifactId === null ? [] : [{ artifactId, bytes, sha256 }]
  })
  await removeStaged(staged)
  let carriedOver: RestoredAccess
  let tokenChanged: boolean
  try {
    await stage(from, manifest, parts, report)
    carriedOver = await parts.prepareStore(join(staged, storeFile), manifest)
    tokenChanged = await differ(join(dataDir, adminTokenFile), join(staged, adminTokenFile))
    await giveStagedToOwner(
      parts,
      artifacts.map(({ artifactId }) => artifactId),
    )
    // A server may have been started meanwhile.
    parts.refuseInUse()
    for (const artifact of artifacts) await parts.artifacts.keep(artifact)
    await parts.removeIndex()
    await syncFolder(staged)
    // The mark belongs to the replaced store, and would report the restored one as gone back in time.
    await removeHistoryMark(dataDir)
    await parts.removeStoreLog()
    await rename(join(staged, storeFile), join(dataDir, storeFile))
  } catch (error) {
    for (const { artifactId } of artifacts) await rm(await parts.artifacts.draftPath(artifactId), { force: true })
    await removeStaged(staged)
    throw error
  }
  await syncFolder(dataDir)
  await finishRestore(dataDir)
  return { manifest, access: carriedOver, tokenChanged }
}

/** Refuses an unsuitable target folder before a large or remote backup is read. */
export async function checkTarget(
  { dataDir, refuseInUse }: Pick<RestoreParts, 'dataDir' | 'refuseInUse'>,
  { force }: { readonly force: boolean },
): Promise<void> {
  await mustBeWritable(dataDir)
  if (!existsSync(dataDir)) return
  refuseInUse()
  const found = (await readdir(dataDir)).filter((name) => !leftByRestore.includes(name))
  if (found.length > 0 && !force) {
    throw new BackupError(
      `${dataDir} is not empty: set TIDEMARK_DATA_DIR to another folder, or replace what is existing with --force`,
    )
  }
}

/**
 * Refuses the backup itself as the data folder, and a folder in it, because the restore would overwrite the backup. A
 * backup inside the data folder is left as it is.
 */
export async function refuseOverlap(backup: string, dataDir: string): Promise<void> {
  const [from, to] = [await realPathOf(backup), await realPathOf(dataDir)]
  if (from === to) throw new BackupError(`${dataDir} is the backup itself: restore it to another folder`)
  if (isWithin(to, from)) throw new BackupError(`${dataDir} is in the backup ${backup}: restore it to another folder`)
}

const isWithin = (inner: string, outer: string): boolean => relative(outer, inner).split(sep, 1)[0] !== '..'

/** Also resolves a path that does not exist yet. */
async function realPathOf(path: string): Promise<string> {
  const existing = await nearestExisting(path)
  return join(await realpath(existing), relative(existing, path))
}

/** The path itself, or the nearest folder above it that exists. */
async function nearestExisting(path: string): Promise<string> {
  try {
    await lstat(path)
    return path
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (!['ENOENT', 'ENOTDIR'].includes(code) || dirname(path) === path) throw error
    return nearestExisting(dirname(path))
  }
}

/**
 * For a missing folder, checks the folder that it would be created in. It tries to create one there, because
 * permissions are not enough to know: even root cannot create a folder in /proc.
 */
async function mustBeWritable(folder: string): Promise<void> {
  let existing = folder
  try {
    existing = await nearestExisting(folder)
    if (!(await stat(existing)).isDirectory()) throw new BackupError(`${existing} is not a folder`)
    await rmdir(await mkdtemp(join(existing, 'restore-')))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    throw new BackupError(`this user cannot write to ${existing} (${code})`)
  }
}

/** Whether both files exist with different contents. */
async function differ(one: string, other: string): Promise<boolean> {
  return existsSync(one) && existsSync(other) && (await readRegularText(one)) !== (await readRegularText(other))
}

/** Completes a restore whose store is in place. Does nothing if there is none. */
export async function finishRestore(dataDir: string): Promise<void> {
  const staged = staging(dataDir)
  const token = join(staged, adminTokenFile)
  if (!existsSync(staged) || existsSync(join(staged, storeFile))) return
  if (existsSync(token)) {
    await rename(token, join(dataDir, adminTokenFile))
    await syncFolder(dataDir)
  }
  await rm(staged, { recursive: true, force: true })
}

/** Removes the token first: a token without a store would be put in place at the next start. */
async function removeStaged(staged: string): Promise<void> {
  await rm(join(staged, adminTokenFile), { force: true })
  await rm(staged, { recursive: true, force: true })
}

async function stage(from: string, manifest: BackupManifest, parts: RestoreParts, report: Report): Promise<void> {
  const staged = staging(parts.dataDir)
  await mkdir(staged, { mode: 0o700 })
  const total = totalBytes(manifest)
  let done = 0
  const storeFirst = manifest.files.toSorted((a, b) => Number(b.path === storeFile) - Number(a.path === storeFile))
  for (const file of storeFirst) {
    const artifactId = artifactIdOf(file.path)
    const to = artifactId === null ? join(staged, file.path) : await parts.artifacts.draftPath(artifactId)
    await copyChecked(join(from, file.path), to, file, (bytes) => {
      done += bytes
      report({ step: 'restoring', done, total })
    })
  }
}

/** Root may restore a backup for the user who runs the server. */
async function giveStagedToOwner({ dataDir, artifacts }: RestoreParts, artifactIds: readonly string[]): Promise<void> {
  const staged = staging(dataDir)
  await giveToOwner(dataDir, [staged, ...(await readdir(staged)).map((name) => join(staged, name))])
  const drafts = await Promise.all(artifactIds.map((artifactId) => artifacts.draftPath(artifactId)))
  if (drafts.length === 0) return
  const folder = dirname(drafts[0]!)
  // The folder of artifacts may be new, or may be shared with others.
  if (folder === join(dataDir, artifactFolder)) await giveToOwner(dataDir, [folder])
  await giveToOwner(folder, drafts)
}

async function copyChecked(from: string, to: string, file: BackupFile, copied: (bytes: number) => void): Promise<void> {
  const digest = createHash('sha256')
  const source = await openRegular(from)
  await pipeline(
    source.createReadStream({ highWaterMark: 1 << 20 }),
    async function* (pieces: AsyncIterable<Buffer>) {
      for await (const piece of pieces) {
        digest.update(piece)
        copied(piece.length)
        yield piece
      }
    },
    createWriteStream(to, { flags: 'w', mode: 0o600, flush: true }),
  )
  if (digest.digest('hex') !== file.sha256)
    throw new BackupError(`${file.path} of the backup changed while it was read`)
}
