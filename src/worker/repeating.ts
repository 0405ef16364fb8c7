import type { Incidents } from '../platform/incidents.ts'
import type { WriteNotifications } from '../platform/write-notifications.ts'

/** A background job that runs repeatedly, never twice at once, and can be stopped between two runs. */
export interface Repeating {
  /** Ends the pause before the next run, unless that pause follows a failure. */
  wake(): void
  stop(): Promise<void>
}

/** How long a job pauses before its next run, and how long if the last runs had nothing to do. */
interface Pauses {
  readonly everyMs: number
  readonly whenIdleMs: number
  /** If every change is notified, a job that has found nothing for a while rests, and runs only now and then. */
  readonly notifications?: WriteNotifications | null
  readonly rest?: typeof defaultRest
}

/**
 * Runs `work` now, and then every `everyMs`. If `work` returns that there is more to do, it runs again after 5 ms,
 * which lets waiting writers in. It may instead return the milliseconds until there is more to do: the next run is no
 * later than that, even without a notification. A failure is reported, and the next run tries again.
 */
export function repeat(
  name: string,
  pauses: number | Pauses,
  work: () => Promise<boolean | number>,
  incidents: Incidents,
): Repeating {
  const chosen: Pauses = typeof pauses === 'number' ? { everyMs: pauses, whenIdleMs: pauses } : pauses
  const { everyMs, whenIdleMs, notifications = null, rest = defaultRest } = chosen
  let stopped = false
  let endPause: () => void = () => {}
  let woken = false
  let failures = 0
  let idleRuns = 0
  let activeAt = performance.now()
  let isResting = false
  const resetIdle = (): void => {
    activeAt = performance.now()
    idleRuns = 0
  }
  /** Returns the pause before the next run. */
  const pause = (): number => {
    if (idleRuns < idleRunsMin) return everyMs
    isResting = notifications !== null && performance.now() - activeAt >= rest.afterMs
    return isResting ? rest.forMs : whenIdleMs
  }
  const run = async (): Promise<void> => {
    while (!stopped) {
      let more: boolean | number = false
      woken = false
      isResting = false
      try {
        more = await work()
        incidents.worked(name)
        failures = 0
        if (more === true || woken) resetIdle()
        else idleRuns++
      } catch (error) {
        if (stopped) return
        failures++
        resetIdle()
        incidents.failed(name, error)
      }
      if (stopped) return
      await new Promise<void>((resolve) => {
        const atMost = typeof more === 'number' ? Math.max(more, yieldMs) : Infinity
        const timer = setTimeout(resolve, pauseMs(more === true || woken, Math.min(pause(), atMost), failures))
        timer.unref()
        endPause = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }
  const running = run()
  const following = notifications?.follow(() => {
    resetIdle()
    // Under load notifications never stop, so they do not end other pauses.
    if (isResting && failures === 0) endPause()
  })
  return {
    wake() {
      woken = true
      resetIdle()
      if (failures === 0) endPause()
    },
    async stop() {
      stopped = true
      following?.end()
      endPause()
      await running
    },
  }
}

/** Idle runs before the pause becomes longer, because more work often follows soon. */
const idleRunsMin = 10

/** `afterMs` is longer than the lease of an analysis run, because an expired lease sends no notification. */
const defaultRest = { afterMs: 15_000, forMs: 30_000 }

/** The pause between two portions of a job, so that waiting writers can run. */
const yieldMs = 5

/** The longest pause after failures, short enough to recover soon after a provider is back. */
const pauseMaxMs = 10_000

/** Exponential backoff after failures, even if the job is woken. */
function pauseMs(busy: boolean, everyMs: number, failures: number): number {
  if (failures > 0) return Math.min(pauseMaxMs, Math.max(everyMs, yieldMs) * 2 ** Math.min(failures, 10))
  return busy ? yieldMs : everyMs
}
