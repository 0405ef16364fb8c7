import type { Incidents } from '../platform/incidents.ts'
import type { WriteNotifications } from '../platform/write-notifications.ts'

/** A background job that runs repeatedly, never twice at once, and can be stopped in an orderly way. */
export interface Repeating {
  /** Ends the pause before the next turn, unless that pause follows a failure. */
  wake(): void
  stop(): Promise<void>
}

/** How long a job waits for its next turn, and how long if the last turns had nothing to do. */
interface Pauses {
  readonly everyMs: number
  readonly whenIdleMs: number
  /** If every change is notified, a job that has found nothing for a while rests, and only looks now and then. */
  readonly notifications?: WriteNotifications | null
  readonly rest?: typeof restOfAll
}

/**
 * Runs `work` now and then every `everyMs`. `work` returns whether there is more to do at once, and is then called
 * again after others had their turn. It may instead return the milliseconds until there is more to do, which apply
 * without a notification. A failure is reported and the next turn tries again.
 */
export function repeat(
  name: string,
  pauses: number | Pauses,
  work: () => Promise<boolean | number>,
  incidents: Incidents,
): Repeating {
  const chosen: Pauses = typeof pauses === 'number' ? { everyMs: pauses, whenIdleMs: pauses } : pauses
  const { everyMs, whenIdleMs, notifications = null, rest = restOfAll } = chosen
  let stopped = false
  let endPause: () => void = () => {}
  let woken = false
  let failures = 0
  let idleTurns = 0
  let stirredAt = performance.now()
  let rests = false
  const stirred = (): void => {
    stirredAt = performance.now()
    idleTurns = 0
  }
  /** How long the job waits for its next turn. */
  const pause = (): number => {
    if (idleTurns < idleTurnsMin) return everyMs
    rests = notifications !== null && performance.now() - stirredAt >= rest.afterMs
    return rests ? rest.forMs : whenIdleMs
  }
  const turn = async (): Promise<void> => {
    while (!stopped) {
      let more: boolean | number = false
      woken = false
      rests = false
      try {
        more = await work()
        incidents.worked(name)
        failures = 0
        if (more === true || woken) stirred()
        else idleTurns++
      } catch (error) {
        if (stopped) return
        failures++
        stirred()
        incidents.failed(name, error)
      }
      if (stopped) return
      await new Promise<void>((resolve) => {
        const atMost = typeof more === 'number' ? Math.max(more, breathMs) : Infinity
        const timer = setTimeout(resolve, pauseMs(more === true || woken, Math.min(pause(), atMost), failures))
        timer.unref()
        endPause = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }
  const running = turn()
  const following = notifications?.follow(() => {
    stirred()
    // Under load notifications never stop, so a job that does not rest keeps its pace.
    if (rests && failures === 0) endPause()
  })
  return {
    wake() {
      woken = true
      stirred()
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

/** More work often follows soon. */
const idleTurnsMin = 10

/** Resting starts later than the lease of an exited worker expires, so changes by time alone are found first. */
const restOfAll = { afterMs: 15_000, forMs: 30_000 }

/** Between two portions of one job, so that waiting writers get their turn. */
const breathMs = 5

/** Short enough to catch up soon after a provider is back. */
const pauseMaxMs = 10_000

/** After a failure the pauses grow, even if the job is woken. */
function pauseMs(busy: boolean, everyMs: number, failures: number): number {
  if (failures > 0) return Math.min(pauseMaxMs, Math.max(everyMs, breathMs) * 2 ** Math.min(failures, 10))
  return busy ? breathMs : everyMs
}
