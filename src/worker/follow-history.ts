import { isDeepStrictEqual } from 'node:util'
import { isShown, type LastLoss } from '../operator/examine-history.ts'
import { readHistoryMark, writeHistoryMark } from '../operator/history-mark.ts'
import type { HistoryLoss, HistoryMark, HistoryStore, LostTime } from '../operator/history-store.ts'
import type { Incidents } from '../platform/incidents.ts'
import type { Log } from '../platform/log.ts'
import type { WriteNotifications } from '../platform/write-notifications.ts'
import { repeat } from './repeating.ts'

/** How often the store is compared with the mark, and the mark is written. */
const pauses = { everyMs: 1000, whenIdleMs: 5000 }

export interface FollowedHistory {
  /** The loss that was found at start-up: the search index is still that of the lost time. */
  readonly lossAtStart: string | null
  /** The last loss, for as long as operators should see it. */
  loss(): LastLoss
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
 * Detects, at start-up and later, that the store was rolled back to an earlier state, by a mark that is kept beside it.
 * The store then continues with numbers above those of the lost time, and the loss is logged.
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

  const startNewHistory = async (lost: LostTime): Promise<HistoryLoss | null> => {
    const found = await store.startNewHistory(lost, now())
    if (found === null) return null
    last = found
    logger.error(
      { why: found.why, history: found.historyId },
      'the store was rolled back to an earlier state, or has lost its last writes: later acknowledged writes are lost; new events get numbers above all lost ones, readers that had seen lost events get 410 and start over, and the search index is rebuilt',
    )
    return found
  }

  /** Returns why everything derived from the store must be rebuilt; null if the store is still in the same history. */
  const check = async (): Promise<string | null> => {
    let mark = await store.mark()
    let why: string | null = null
    if (known !== null && !isDeepStrictEqual(known, mark)) {
      const found = (await store.lacks(known)) === null ? null : await startNewHistory(known)
      if (found !== null) mark = await store.mark()
      if (isOfOtherHistory(known, mark)) {
        last = await store.lastLoss()
        why = 'the store was rolled back to an earlier state'
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

  // The first step writes the mark, when the index is no longer that of the lost time.
  const lossAtStart = await check()
  return {
    lossAtStart,
    loss: () => (isShown(last, now()) ? last : null),
    indexIsAhead: async (indexedThrough) => void (await startNewHistory({ indexedThrough })),
    follow(lost) {
      const step = async (): Promise<boolean> => {
        const why = await check()
        if (why !== null) await lost(why)
        await write()
        return false
      }
      const following = repeat('history', { ...pauses, notifications }, step, incidents)
      return {
        async stop() {
          await following.stop()
          // Without this the mark would be some seconds older than the last write.
          try {
            if ((await check()) === null) await write()
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
