import { randomUUID } from 'node:crypto'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { backupNoteFile } from '../platform/data-folder.ts'
import { giveToOwner } from '../platform/folders.ts'
import { readRegularText } from '../platform/regular-file.ts'
import { formatOptionalTime, parseKnownTime } from '../platform/time.ts'

/**
 * The outcome of the last backups of a data folder. Every backup writes it to the data folder, because the server that
 * reports it in its metrics is another process and does not know where the backups are.
 */
export interface BackupNote {
  /** The time of the last successful backup. */
  readonly madeAt: number | null
  /** The time of the last failure since then. */
  readonly failedAt: number | null
}

/** Returns null if no backup was ever attempted. */
export async function readBackupNote(dataDir: string): Promise<BackupNote | null> {
  try {
    const { made_at, failed_at } = JSON.parse(await readRegularText(join(dataDir, backupNoteFile)))
    return { madeAt: timeOf(made_at), failedAt: timeOf(failed_at) }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

const timeOf = (text: string | null): number | null => (text === null ? null : parseKnownTime(text))

/** Returns the newer of the notes in the data folder and in the store. */
export function newerNote(note: BackupNote | null, recorded: BackupNote): BackupNote {
  const at = ({ madeAt, failedAt }: BackupNote): number => failedAt ?? madeAt ?? 0
  return note !== null && at(note) >= at(recorded) ? note : recorded
}

/** Replaces the note atomically. */
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
