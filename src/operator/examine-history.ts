import { dayMs, formatTime } from '../platform/time.ts'
import { type Finding, failure, warning } from './examine.ts'
import { readHistoryMark } from './history-mark.ts'
import type { HistoryLoss, HistoryStore } from './history-store.ts'

/** How long operators see a loss, because clients may still use cursors from the lost time. */
const lossShownMs = 30 * dayMs

export type LastLoss = HistoryLoss | null

export const lossInWords = ({ noticedAt, why }: HistoryLoss): string =>
  `at ${formatTime(noticedAt)} the store was found to have gone back in time: ${why}`

export const isShown = (loss: LastLoss, nowMs: number): loss is HistoryLoss =>
  loss !== null && nowMs - loss.noticedAt <= lossShownMs

/** Checks whether the store has lost writes. Changes nothing. */
export async function examineHistory(
  store: Pick<HistoryStore, 'lacks' | 'lastLoss'>,
  dataDir: string,
  nowMs: number,
): Promise<readonly Finding[]> {
  const mark = await readHistoryMark(dataDir)
  const missing = mark === null ? null : await store.lacks(mark)
  if (missing !== null) {
    return [
      failure(
        `the store has gone back in time since it was last served: ${missing}`,
        'if a newer copy of the store exists, put it back before anything is written; otherwise start the server, which continues from here',
      ),
    ]
  }
  const loss = await store.lastLoss()
  if (!isShown(loss, nowMs)) return []
  return [
    warning(
      lossInWords(loss),
      'send the lost documents again; when the server starts, it repeats the erasures and revocations that are in the record of erasures and ended keys: if that was lost too, erase again and check tidemark key list',
    ),
  ]
}
