import type { Incidents } from '../incidents.ts'

/** A background job that runs again and again, never twice at once, and can be ended in an orderly way. */
export interface Repeating {
  /** Ends the pause before the next turn, unless that pause follows a failure. */
  wake(): void
  stop(): Promise<void>
}

/** How long a job waits for its next turn, and how long where the last ones had nothing to do. */
interface Pauses {
  readonly everyMs: number
  readonly whenIdleMs: number
}

/**
 * Runs `work` now and then every `everyMs`. `work` returns whether there is more to do at once; it is then called again
 * after letting others go first. A failure is reported and the next turn tries again.
 */
export function repeat(
  name: string,
  pauses: number | Pauses,
  work: () => Promise<boolean>,
  incidents: Incidents,
): Repeating {
  const { everyMs, whenIdleMs } = typeof pauses === 'number' ? { everyMs: pauses, whenIdleMs: pauses } : pauses
  let stopped = false
  let endPause: () => void = () => {}
  let woken = false
  let failures = 0
  let idleTurns = 0
  const turn = async (): Promise<void> => {
    while (!stopped) {
      let more = false
      woken = false
      try {
        more = await work()
        incidents.worked(name)
        failures = 0
        idleTurns = more || woken ? 0 : idleTurns + 1
      } catch (error) {
        if (stopped) return
        failures++
        incidents.failed(name, error)
      }
      if (stopped) return
      await new Promise<void>((resolve) => {
        const restMs = idleTurns < idleTurnsMin ? everyMs : whenIdleMs
        const timer = setTimeout(resolve, pauseMs(more || woken, restMs, failures))
        timer.unref()
        endPause = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }
  const running = turn()
  return {
    wake() {
      woken = true
      idleTurns = 0
      if (failures === 0) endPause()
    },
    async stop() {
      stopped = true
      endPause()
      await running
    },
  }
}

/** What has just happened is often followed by more. */
const idleTurnsMin = 10

/** Between two portions of one job: writers that wait get their turn. */
const breathMs = 5

/** So that what a provider missed while it was down is made up soon after it is back. */
const pauseMaxMs = 10_000

/** After a failure the pauses grow, whoever wakes the job. */
function pauseMs(busy: boolean, everyMs: number, failures: number): number {
  if (failures > 0) return Math.min(pauseMaxMs, Math.max(everyMs, breathMs) * 2 ** Math.min(failures, 10))
  return busy ? breathMs : everyMs
}
