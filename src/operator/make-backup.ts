import { createWriteStream } from 'node:fs'
import { mkdir, open, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { adminTokenFile, artifactFolder, storeFile } from '../platform/data-folder.ts'
import { makeFolder } from '../platform/folders.ts'
import { readRegular } from '../platform/regular-file.ts'
import { formatTime } from '../platform/time.ts'
import {
  artifactPath,
  BackupError,
  type BackupFile,
  type BackupManifest,
  backupName,
  manifestPath,
  manifestText,
  type Report,
  sha256Of,
} from './backup-manifest.ts'

export interface StoreCopy {
  readonly schema: number
  readonly counts: Readonly<Record<string, number>>
  /** Unexpired artifacts that the copy refers to. */
  readonly artifacts: readonly CopiedArtifact[]
}

interface CopiedArtifact {
  readonly artifactId: string
  readonly bytes: number
  readonly sha256: string
}

export interface BackupParts {
  readonly dataDir: string
  /** The version of Tidemark. */
  readonly version: string
  readonly now: () => number
  /** Makes a checked copy of one snapshot of the store, in a single file. Writers go on meanwhile. */
  readonly copyStore: (path: string, report: Report) => Promise<StoreCopy>
  /** Resolves to null if there is no such file. */
  readonly readArtifact: (artifact: CopiedArtifact) => Promise<Readable | null>
}

export interface MadeBackup {
  readonly folder: string
  readonly manifest: BackupManifest
  /** Artifacts whose file was missing or damaged, for example because their run expired meanwhile. */
  readonly leftOut: readonly string[]
}

/**
 * Makes a backup in a new folder inside `into`. The folder is written under another name, and renamed when everything
 * in it is on disk, so a backup is complete or does not exist.
 */
export async function makeBackup(into: string, parts: BackupParts, report: Report): Promise<MadeBackup> {
  const madeAt = parts.now()
  const folder = join(into, backupName(madeAt))
  const partial = `${folder}.partial`
  await makePartial(into, partial)
  try {
    const { schema, counts, artifacts } = await parts.copyStore(join(partial, storeFile), report)
    const files: BackupFile[] = [await fileOf(partial, storeFile)]
    if (await copyToken(parts.dataDir, partial)) files.push(await fileOf(partial, adminTokenFile))
    await mkdir(join(partial, artifactFolder), { mode: 0o700 })
    const leftOut: string[] = []
    for (const [i, artifact] of artifacts.entries()) {
      report({ step: 'copying artifacts', done: i, total: artifacts.length })
      const { artifactId, sha256 } = artifact
      const path = artifactPath(artifactId)
      const content = await parts.readArtifact(artifact)
      if (content !== null) await pipeline(content, createWriteStream(join(partial, path), fresh))
      const file = content === null ? null : await fileOf(partial, path)
      if (file?.sha256 === sha256) files.push(file)
      else {
        leftOut.push(artifactId)
        await rm(join(partial, path), { force: true })
      }
    }
    const version = parts.version
    const manifest = { format: 1, tidemark: version, made_at: formatTime(madeAt), schema, counts, files } as const
    await writeFile(manifestPath(partial), manifestText(manifest), { ...fresh, flag: 'wx' })
    for (const one of [join(partial, artifactFolder), partial]) await syncFolder(one)
    await rename(partial, folder)
    await syncFolder(into)
    return { folder, manifest, leftOut }
  } catch (error) {
    await rm(partial, { recursive: true, force: true })
    throw error
  }
}

/** Files are flushed to disk and readable by their owner only: they hold key hashes and signing keys. */
const fresh = { flags: 'wx', mode: 0o600, flush: true } as const

async function makePartial(into: string, partial: string): Promise<void> {
  try {
    await makeFolder(into)
    await mkdir(partial, { mode: 0o700 })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new BackupError(
      code === 'EEXIST'
        ? `${partial} already exists: another backup was started in the same second; try again`
        : `${into} must be a folder that this user can create or write to (${code})`,
    )
  }
}

async function copyToken(dataDir: string, partial: string): Promise<boolean> {
  try {
    const token = await readRegular(join(dataDir, adminTokenFile))
    await writeFile(join(partial, adminTokenFile), token, { mode: 0o600, flush: true })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

/** Reads the file back for its size and checksum. */
async function fileOf(folder: string, path: string): Promise<BackupFile> {
  const { size } = await stat(join(folder, path))
  return { path, bytes: size, sha256: await sha256Of(join(folder, path)) }
}

/** Syncs a folder. A new or renamed file is safe only once its folder is synced. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
