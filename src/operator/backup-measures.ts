import type { Measures } from '../platform/measures.ts'
import { type BackupNote, newerNote, readBackupNote } from './backup-note.ts'

/** Reports the age of the last backup, made by `tidemark backup` or by a tool that calls `tidemark backup record`. */
export function measureBackups(measures: Measures, dataDir: string, recorded: () => Promise<BackupNote>): void {
  measures.gauges(
    {
      tidemark_backup_age_seconds: 'Age of the last backup that was made or recorded; absent if there was none.',
      tidemark_backup_failed: '1 if the last backup failed, 0 if not; absent if there was none.',
    },
    async () => {
      const { madeAt, failedAt } = newerNote(await readBackupNote(dataDir), await recorded())
      const isKnown = madeAt !== null || failedAt !== null
      return {
        tidemark_backup_age_seconds: madeAt === null ? null : (Date.now() - madeAt) / 1000,
        tidemark_backup_failed: isKnown ? Number(failedAt !== null) : null,
      }
    },
  )
}
