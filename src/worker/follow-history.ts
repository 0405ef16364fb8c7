import { isDeepStrictEqual } from 'node:util'
import { isShown, type LossNow } from '../operator/examine-history.ts'
import { readHistoryMark, writeHistoryMark } from '../operator/history-mark.ts'
import type { HistoryMark, HistoryStore, LostTime, WentBack } from '../operator/history-store.ts'
import type { Incidents } from '../platform/incidents.ts'
import type { Log } from '../platform/log.ts'
import type { WriteNotifications } from '../platform/write-notifications.ts'
import { repeat } from './repeating.ts'

/** The mark is at most this much older than the store, and is written no more often. */
const pauses = { everyMs: 1000, whenIdleMs: 5000 }

export interface FollowedHistory {
  /** The loss that was found at start-up: the search index is still that of the lost time. */
  readonly lossAtStart: string | null
  /** The last loss, for as long as operators should see it. */
  loss(): LossNow
  /** Reports that the search index has more than the store. */
  indexIsAhead(indexedThrough: number): Promise<void>
  /** Calls `lost` with the reason when everything that was derived from the store must be rebuilt. */
  follow(lost: (why: string) => Promise<void>): { stop(): Promise<void> }
}

export interface HistoryParts {
  readonly store: HistoryStore
  readonly dataDir: string
  readonly now: () => number
  readonly incidents: Incidents
  readonly logger: Log
  readonly notifications: WriteNotifications | null
}

/**
 * Detects, at start-up and later, that the store was put back to an earlier time, by a mark that is kept beside it. The
 * store then continues with numbers above those of the lost time, and the operator is told.
 */
export async function followHistory({
  store,
  dataDir,
  now,
  incidents,
  logger,
  notifications,
}: HistoryParts): Promise<FollowedHistory> {
  let written = await readHistoryMark(dataDir)
  let known = written
  let last = await store.lastLoss()

  const goOn = async (lost: LostTime): Promise<WentBack | null> => {
    const found = await store.goOn(lost, now())
    if (found === null) return null
    last = found
    logger.error(
      { why: found.why, history: found.historyId },
      'the store was put back to an earlier time, or has lost its last writes: later acknowledged writes are lost; new events get numbers above all lost ones, readers that had seen lost events get 410 and start over, and the search index is rebuilt',
    )
    return found
  }

  /** Why the mark belongs to another history than the store's; null if it does not. */
  const look = async (): Promise<string | null> => {
    let mark = await store.mark()
    let why: string | null = null
    if (known !== null && !isDeepStrictEqual(known, mark)) {
      const found = (await store.lacks(known)) === null ? null : await goOn(known)
      if (found !== null) mark = await store.mark()
      if (isOfOtherHistory(known, mark)) {
        last = await store.lastLoss()
        why = 'the store was put back to an earlier time'
      }
    }
    known = mark
    return why
  }

  const write = async (): Promise<void> => {
    if (known === null || known.instance === null || isDeepStrictEqual(known, written)) return
    await writeHistoryMark(dataDir, known)
    written = known
  }

  // The first turn writes the mark, once the index is no longer that of the lost time.
  const lossAtStart = await look()
  return {
    lossAtStart,
    loss: () => (isShown(last, now()) ? last : null),
    indexIsAhead: async (indexedThrough) => void (await goOn({ indexedThrough })),
    follow(lost) {
      const turn = async (): Promise<boolean> => {
        const why = await look()
        if (why !== null) await lost(why)
        await write()
        return false
      }
      const following = repeat('history', { ...pauses, notifications }, turn, incidents)
      return {
        async stop() {
          await following.stop()
          // The next start then knows the last write. Otherwise the mark is some seconds old.
          try {
            if ((await look()) === null) await write()
          } catch (error) {
            incidents.failed('history', error)
          }
        },
      }
    },
  }
}

const isOfOtherHistory = (known: HistoryMark, mark: HistoryMark): boolean =>
  known.historyId !== mark.historyId && (known.instance === mark.instance || known.instance === null)
