import { type BackupPlace, nextBackupAt } from './backup-place.ts'

/** The pause after a failure. */
const retryMs = 5 * 60_000
/** The longest sleep. The clock is read again after it, because it may have been set or the machine suspended. */
const sleepMaxMs = 3_600_000

export interface BackupSchedule {
  readonly place: Pick<BackupPlace, 'names'>
  readonly everyMs: number
  /** Makes a backup. */
  readonly backUp: () => Promise<void>
  readonly now: () => number
  /** Resolves after the time, or when ending. */
  readonly sleep: (ms: number) => Promise<void>
  readonly isEnding: () => boolean
  /** Called once with the time of the next backup. */
  readonly scheduled: (dueAt: number) => void
  readonly failed: (error: unknown, againInMs: number) => void
}

/** Makes a backup whenever one is due, until ending. A backup in progress is completed. */
export async function keepBackingUp(schedule: BackupSchedule): Promise<void> {
  const { place, everyMs, backUp, now, sleep, isEnding } = schedule
  let announcedFor = 0
  while (!isEnding()) {
    try {
      const dueAt = await nextBackupAt(place, everyMs, now())
      const waitMs = dueAt - now()
      if (waitMs <= 0) await backUp()
      else {
        if (announcedFor !== dueAt) schedule.scheduled(dueAt)
        announcedFor = dueAt
        await sleep(Math.min(waitMs, sleepMaxMs))
      }
    } catch (error) {
      const pauseMs = Math.min(everyMs, retryMs)
      schedule.failed(error, pauseMs)
      await sleep(pauseMs)
    }
  }
}
