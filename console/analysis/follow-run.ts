import { callApi } from '../app/call-api.ts'
import { pathSegment } from '../shared/path-segment.ts'
import { isUnderWay, type Run } from './analysis-types.ts'

const [pollMs, pollMaxMs] = [400, 5_000]

/** Polls a run, at growing intervals, until it has ended. Reports each state, and returns the last. */
export async function followRun(runId: string, signal: AbortSignal, report: (run: Run) => void): Promise<Run> {
  for (let delayMs = pollMs; ; delayMs = Math.min(pollMaxMs, delayMs * 1.3)) {
    const run = await callApi<Run>('GET', `/v1/analysis/runs/${pathSegment(runId)}`, { signal })
    signal.throwIfAborted()
    report(run)
    if (!isUnderWay(run)) return run
    await pause(delayMs, signal)
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
