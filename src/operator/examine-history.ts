import { dayMs, formatTime } from '../platform/time.ts'
import { type Finding, failure, warning } from './examine.ts'
import { readHistoryMark } from './history-mark.ts'
import type { HistoryStore, WentBack } from './history-store.ts'

/** As long as cursors of the lost time may still be used. */
const lossShownMs = 30 * dayMs

export type LossNow = WentBack | null

export const lossInWords = ({ noticedAt, why }: WentBack): string =>
  `at ${formatTime(noticedAt)} the store was found to be of an earlier time than before: ${why}`

/** Whether operators should still see the loss. */
export const isShown = (loss: LossNow, nowMs: number): loss is WentBack =>
  loss !== null && nowMs - loss.noticedAt <= lossShownMs

/** Checks whether the store has lost writes. Changes nothing. */
export async function examineHistory(
  store: Pick<HistoryStore, 'lacks' | 'lastLoss'>,
  dataDir: string,
  nowMs: number,
): Promise<readonly Finding[]> {
  const mark = await readHistoryMark(dataDir)
  const lacking = mark === null ? null : await store.lacks(mark)
  if (lacking !== null) {
    return [
      failure(
        `the store is of an earlier time than when it was last served: ${lacking}`,
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
