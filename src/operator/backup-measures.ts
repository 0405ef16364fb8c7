import type { Measures } from '../measures.ts'
import { readBackupNote } from './backup-note.ts'

/** How old what could be restored is. Of a store that others back up nothing is known here. */
export function measureBackups(measures: Measures, dataDir: string): void {
  measures.gauges(
    {
      tidemark_backup_age_seconds:
        'Since the last backup that tidemark backup has made; absent where it has made none.',
      tidemark_backup_failed:
        '1 where the last attempt of tidemark backup failed, else 0; absent where there was none.',
    },
    async () => {
      const note = await readBackupNote(dataDir)
      const { madeAt = null, failedAt = null } = note ?? {}
      return {
        tidemark_backup_age_seconds: madeAt === null ? null : (Date.now() - madeAt) / 1000,
        tidemark_backup_failed: note === null ? null : Number(failedAt !== null),
      }
    },
  )
}
