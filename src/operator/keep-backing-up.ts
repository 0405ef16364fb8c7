import { type BackupPlace, nextBackupAt } from './backup-place.ts'

/** After a failure. A place that is away for a while costs no more than that. */
const againMs = 5 * 60_000
/** The clock may be set, and a machine sleep: it is looked at so often. */
const lookMs = 3_600_000

export interface BackupSchedule {
  readonly place: Pick<BackupPlace, 'names'>
  readonly everyMs: number
  /** Makes one. */
  readonly once: () => Promise<void>
  readonly now: () => number
  /** Waits so long, or until it is to end. */
  readonly rest: (ms: number) => Promise<void>
  readonly isEnding: () => boolean
  /** The next one is made then; told once. */
  readonly awaits: (dueAt: number) => void
  readonly failed: (error: unknown, againInMs: number) => void
}

/** Makes a backup whenever one is due, until it is to end; one that is under way then is finished. */
export async function keepBackingUp(schedule: BackupSchedule): Promise<void> {
  const { place, everyMs, once, now, rest, isEnding } = schedule
  let told = 0
  while (!isEnding()) {
    try {
      const dueAt = await nextBackupAt(place, everyMs, now())
      const waitMs = dueAt - now()
      if (waitMs <= 0) await once()
      else {
        if (told !== dueAt) schedule.awaits(dueAt)
        told = dueAt
        await rest(Math.min(waitMs, lookMs))
      }
    } catch (error) {
      const pauseMs = Math.min(everyMs, againMs)
      schedule.failed(error, pauseMs)
      await rest(pauseMs)
    }
  }
}
