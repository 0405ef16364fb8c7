import { dayMs, formatTime } from '../platform/time.ts'
import { type BackupNote, newerNote, readBackupNote } from './backup-note.ts'
import { type Finding, ok, warning } from './examine.ts'

/** A daily backup should not be older than this. The alert has the same limit. */
const oldAfterMs = 2 * dayMs

const advice = 'make backups daily: tidemark backup FOLDER, or another tool that calls tidemark backup record'

/** Checks the age of the last backup. `recorded` is from the store; null if it cannot be read. Changes nothing. */
export async function examineBackups(
  dataDir: string,
  recorded: BackupNote | null,
  nowMs: number,
): Promise<readonly Finding[]> {
  const note = await readBackupNote(dataDir)
  const { madeAt, failedAt } = (recorded === null ? note : newerNote(note, recorded)) ?? {
    madeAt: null,
    failedAt: null,
  }
  const failed = failedAt === null ? [] : [warning(`a backup failed at ${formatTime(failedAt)}`, 'its output says why')]
  if (madeAt !== null) {
    const about = `the last backup was made at ${formatTime(madeAt)}`
    return [...failed, nowMs - madeAt > oldAfterMs ? warning(`${about}, more than two days ago`, advice) : ok(about)]
  }
  return recorded === null ? failed : [...failed, warning('no backup was ever made', advice)]
}
