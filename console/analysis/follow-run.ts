import { ask } from '../app/ask.ts'
import { isUnderWay, type Run } from './analysis-types.ts'

const [pollMs, pollMaxMs] = [400, 5_000]

/** Tells of a run until it has ended, less and less often; gives its end. */
export async function followRun(runId: string, signal: AbortSignal, tell: (run: Run) => void): Promise<Run> {
  for (let rest = pollMs; ; rest = Math.min(pollMaxMs, rest * 1.3)) {
    const run = await ask<Run>('GET', `/v1/analysis/runs/${encodeURIComponent(runId)}`, { signal })
    signal.throwIfAborted()
    tell(run)
    if (!isUnderWay(run)) return run
    await pause(rest, signal)
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
