import { backupTimeOf, type Report } from './backup-manifest.ts'
import type { MadeBackup } from './make-backup.ts'

/** The port: storage of backups, each under the name that `makeBackup` gave it. A listed backup is complete. */
export interface BackupPlace {
  /** The name to show to people. */
  readonly name: string
  /** The names of all backups, oldest first. */
  names(): Promise<readonly string[]>
  /** Calls `make` for a local folder, and stores the result. `where` describes its location for people. */
  receive(
    make: (into: string) => Promise<MadeBackup>,
    report: Report,
  ): Promise<{ readonly made: MadeBackup; readonly where: string }>
  /** Calls `work` with a local folder that holds the backup. The contents are unchecked. */
  open<T>(name: string, work: (folder: string) => Promise<T>, report: Report): Promise<T>
  /** A removal that is interrupted leaves no backup of that name. */
  remove(name: string): Promise<void>
  /** Removes incomplete backups that were started before the time. */
  removeUnfinished(beforeMs: number): Promise<void>
}

/** A backup that is incomplete for this long was abandoned. */
const abandonedAfterMs = 2 * 86_400_000

/** Removes all but the `kept` newest backups. Returns the names of the removed ones. */
export async function pruneBackups(place: BackupPlace, kept: number, nowMs: number): Promise<readonly string[]> {
  const names = await place.names()
  const excess = names.slice(0, Math.max(0, names.length - kept))
  for (const name of excess) await place.remove(name)
  await place.removeUnfinished(nowMs - abandonedAfterMs)
  return excess
}

/** Returns when the next backup is due: now if there is no backup, or if the newest is dated in the future. */
export async function nextBackupAt(place: Pick<BackupPlace, 'names'>, everyMs: number, nowMs: number): Promise<number> {
  const newest = (await place.names()).at(-1)
  const madeAt = newest === undefined ? null : backupTimeOf(newest)
  return madeAt === null || madeAt > nowMs ? nowMs : madeAt + everyMs
}
