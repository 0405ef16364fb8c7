import { randomUUID } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { backupNoteFile } from '../data-folder.ts'
import { giveToOwner } from '../give-to-owner.ts'
import { formatOptionalTime, parseKnownTime } from '../time.ts'

/**
 * What became of the backups of a data folder, wherever they are kept. Who makes one writes it down there, because the
 * server that tells of it in its metrics is another process and does not know where they are.
 */
export interface BackupNote {
  /** The moment that the last one that was made is of. */
  readonly madeAt: number | null
  /** Of the attempt since then that was the last to fail. */
  readonly failedAt: number | null
}

/** Null where none was ever tried. */
export async function readBackupNote(dataDir: string): Promise<BackupNote | null> {
  try {
    const { made_at, failed_at } = JSON.parse(await readFile(join(dataDir, backupNoteFile), 'utf8'))
    return { madeAt: timeOf(made_at), failedAt: timeOf(failed_at) }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

const timeOf = (text: string | null): number | null => (text === null ? null : parseKnownTime(text))

/** Appears whole or not at all. */
export async function writeBackupNote(dataDir: string, { madeAt, failedAt }: BackupNote): Promise<void> {
  const path = join(dataDir, backupNoteFile)
  const beside = `${path}.${randomUUID()}`
  const note = { made_at: formatOptionalTime(madeAt), failed_at: formatOptionalTime(failedAt) }
  try {
    await writeFile(beside, `${JSON.stringify(note)}\n`)
    await giveToOwner(dataDir, [beside])
    await rename(beside, path)
  } catch (error) {
    await rm(beside, { force: true })
    throw error
  }
}
