/**
 * A backup in place of what a data folder holds, all or nothing.
 *
 * 1. The folder is checked, then everything in the backup, before anything is touched.
 * 2. It is copied into `restore.partial` in the data folder, the store first, and artifacts beside the others as drafts;
 *    all of it is checked again on the way. In the copy of the store keys end that the store in the data folder knows to
 *    be over (`carry-over.ts`).
 * 3. Artifacts are kept, which harms nobody: the store that is there does not know them. The search index is removed: it
 *    can be made anew from either store.
 * 4. The store is moved into place. This one rename is the moment from which the folder is the restored one.
 * 5. The admin token's hash is moved into place. Where the process was ended between the two, `restore.partial` has a
 *    token and no store, and `finishRestore`, at the next start, does the rest.
 */
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { lstat, mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { adminTokenFile, artifactFolder, restoreFolder, storeFile } from '../data-folder.ts'
import { giveToOwner } from '../give-to-owner.ts'
import { makeFolder } from '../make-folder.ts'
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
import { syncFolder } from './make-backup.ts'

export interface RestoreParts {
  readonly dataDir: string
  readonly artifacts: {
    draftPath(artifactId: string): Promise<string>
    keep(artifact: { readonly artifactId: string; readonly bytes: number; readonly sha256: string }): Promise<void>
  }
  /** The newest schema that this version knows. */
  readonly newestSchema: number
  /** Throws where a process has the store that is there open. */
  readonly refuseInUse: () => void
  /** Removes what is beside the store that is there, which nobody has open. */
  readonly removeStoreLog: () => Promise<void>
  /** What a store needs that goes on from an earlier time, on the copy that is not yet in place. */
  readonly prepareStore: (path: string, manifest: BackupManifest) => Promise<RestoredAccess>
  readonly removeIndex: () => Promise<void>
}

/** Who may use the restored instance, against the one that it replaced; or why that one could not be asked. */
export type RestoredAccess = (
  | { readonly carried: CarriedOver }
  | { readonly unknown: string; readonly validKeys: number }
) & {
  /** Documents of the backup that were erased since, and are again; null where that cannot be known. */
  readonly erasedAgain: number | null
}

export interface Restored {
  readonly manifest: BackupManifest
  readonly access: RestoredAccess
  /** The admin token was another one before. */
  readonly tokenChanged: boolean
}

const staging = (dataDir: string): string => join(dataDir, restoreFolder)

/** What is in a folder that was empty when a restore into it was stopped. */
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

/** Refuses a folder that a backup cannot be restored into: before all of a large backup, or of one in a bucket, is read. */
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
      `${dataDir} is not empty: set TIDEMARK_DATA_DIR to another folder, or replace what is there with --force`,
    )
  }
}

/**
 * Refuses the backup itself as the data folder, and a folder in it: what is replaced, or comes beside it, would be the
 * backup. One that lies in the data folder is left as it is.
 */
export async function refuseOverlap(backup: string, dataDir: string): Promise<void> {
  const [from, to] = [await realPathOf(backup), await realPathOf(dataDir)]
  if (from === to) throw new BackupError(`${dataDir} is the backup itself: restore it to another folder`)
  if (isWithin(to, from)) throw new BackupError(`${dataDir} is in the backup ${backup}: restore it to another folder`)
}

const isWithin = (inner: string, outer: string): boolean => relative(outer, inner).split(sep, 1)[0] !== '..'

/** Also of what is not there yet. */
async function realPathOf(path: string): Promise<string> {
  const there = await nearestThere(path)
  return join(await realpath(there), relative(there, path))
}

/** The path itself, or of the folders above it the first that is there. */
async function nearestThere(path: string): Promise<string> {
  try {
    await lstat(path)
    return path
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (!['ENOENT', 'ENOTDIR'].includes(code) || dirname(path) === path) throw error
    return nearestThere(dirname(path))
  }
}

/** Where it is not there yet, the folder that it is to be made in. Rights do not tell: in /proc not even root makes one. */
async function mustBeWritable(folder: string): Promise<void> {
  let there = folder
  try {
    there = await nearestThere(folder)
    if (!(await stat(there)).isDirectory()) throw new BackupError(`${there} is not a folder`)
    await rmdir(await mkdtemp(join(there, 'restore-')))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    throw new BackupError(`this user cannot write to ${there} (${code})`)
  }
}

/** Both are there, and say different things. */
async function differ(one: string, other: string): Promise<boolean> {
  return existsSync(one) && existsSync(other) && (await readFile(one, 'utf8')) !== (await readFile(other, 'utf8'))
}

/** Does what is left of a restore whose store is in place; nothing where there is none. */
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

/** The token first: without a store beside it, it would be taken for one that is still to be put in place. */
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

/** Root may restore for the user who runs the server. */
async function giveStagedToOwner({ dataDir, artifacts }: RestoreParts, artifactIds: readonly string[]): Promise<void> {
  const staged = staging(dataDir)
  await giveToOwner(dataDir, [staged, ...(await readdir(staged)).map((name) => join(staged, name))])
  const drafts = await Promise.all(artifactIds.map((artifactId) => artifacts.draftPath(artifactId)))
  if (drafts.length === 0) return
  const folder = dirname(drafts[0]!)
  // The folder of artifacts may have been made just now, and may as well be one that others share.
  if (folder === join(dataDir, artifactFolder)) await giveToOwner(dataDir, [folder])
  await giveToOwner(folder, drafts)
}

async function copyChecked(from: string, to: string, file: BackupFile, copied: (bytes: number) => void): Promise<void> {
  const digest = createHash('sha256')
  await pipeline(
    createReadStream(from, { highWaterMark: 1 << 20 }),
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
