import { type BackupPlace, nextBackupAt } from './backup-place.ts'

/** The pause after a failure. A short outage costs no more than this. */
const againMs = 5 * 60_000
/** The longest sleep, because the clock may be set and a machine may be suspended. */
const lookMs = 3_600_000

export interface BackupSchedule {
  readonly place: Pick<BackupPlace, 'names'>
  readonly everyMs: number
  /** Makes a backup. */
  readonly once: () => Promise<void>
  readonly now: () => number
  /** Resolves after the time, or when ending. */
  readonly rest: (ms: number) => Promise<void>
  readonly isEnding: () => boolean
  /** Called once with the time of the next backup. */
  readonly awaits: (dueAt: number) => void
  readonly failed: (error: unknown, againInMs: number) => void
}

/** Makes a backup whenever one is due, until ending. A backup in progress is completed. */
export async function keepBackingUp(schedule: BackupSchedule): Promise<void> {
  const { place, everyMs, once, now, rest, isEnding } = schedule
  let announcedFor = 0
  while (!isEnding()) {
    try {
      const dueAt = await nextBackupAt(place, everyMs, now())
      const waitMs = dueAt - now()
      if (waitMs <= 0) await once()
      else {
        if (announcedFor !== dueAt) schedule.awaits(dueAt)
        announcedFor = dueAt
        await rest(Math.min(waitMs, lookMs))
      }
    } catch (error) {
      const pauseMs = Math.min(everyMs, againMs)
      schedule.failed(error, pauseMs)
      await rest(pauseMs)
    }
  }
}
