import { backupTimeOf, type Report } from './backup-manifest.ts'
import type { MadeBackup } from './make-backup.ts'

/** The port: where backups are kept, each under the name that `makeBackup` gave it. One that is there is whole. */
export interface BackupPlace {
  /** For people. */
  readonly name: string
  /** Of all that are there, oldest first. */
  names(): Promise<readonly string[]>
  /** Has one made in a folder of this machine, and keeps it. `where` it is then is for people. */
  receive(
    make: (into: string) => Promise<MadeBackup>,
    report: Report,
  ): Promise<{ readonly made: MadeBackup; readonly where: string }>
  /** Has work done on a folder of this machine that holds the backup: what it says of itself is still to be checked. */
  open<T>(name: string, work: (folder: string) => Promise<T>, report: Report): Promise<T>
  /** Stopped in the middle, it has no longer a backup of that name. */
  remove(name: string): Promise<void>
  /** Removes what was begun before the time and is not whole. */
  removeUnfinished(beforeMs: number): Promise<void>
}

/** One that is not whole after so long never will be. */
const givenUpMs = 2 * 86_400_000

/** Removes all but the newest. Returns the names of those that are gone. */
export async function pruneBackups(place: BackupPlace, kept: number, nowMs: number): Promise<readonly string[]> {
  const names = await place.names()
  const over = names.slice(0, Math.max(0, names.length - kept))
  for (const name of over) await place.remove(name)
  await place.removeUnfinished(nowMs - givenUpMs)
  return over
}

/** When the next one is due: at once where there is none, or where the newest is of a time to come. */
export async function nextBackupAt(place: Pick<BackupPlace, 'names'>, everyMs: number, nowMs: number): Promise<number> {
  const newest = (await place.names()).at(-1)
  const madeAt = newest === undefined ? null : backupTimeOf(newest)
  return madeAt === null || madeAt > nowMs ? nowMs : madeAt + everyMs
}
