import type { Incidents } from '../incidents.ts'
import type { WriteNews } from '../write-news.ts'

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
  /** Where all that it could find is told, a job that has found nothing for a while rests, and looks now and then. */
  readonly news?: WriteNews | null
  readonly rest?: typeof restOfAll
}

/**
 * Runs `work` now and then every `everyMs`. `work` returns whether there is more to do at once, and is then called again
 * after letting others go first; or in how many milliseconds there is at the latest, whatever is told. A failure is
 * reported and the next turn tries again.
 */
export function repeat(
  name: string,
  pauses: number | Pauses,
  work: () => Promise<boolean | number>,
  incidents: Incidents,
): Repeating {
  const asked: Pauses = typeof pauses === 'number' ? { everyMs: pauses, whenIdleMs: pauses } : pauses
  const { everyMs, whenIdleMs, news = null, rest = restOfAll } = asked
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
  /** As long as a job may wait for its next turn. */
  const pause = (): number => {
    if (idleTurns < idleTurnsMin) return everyMs
    rests = news !== null && performance.now() - stirredAt >= rest.afterMs
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
  const following = news?.follow(() => {
    stirred()
    // Under load it would be told without end: a job that does not rest keeps its pace.
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

/** What has just happened is often followed by more. */
const idleTurnsMin = 10

/** It begins later than the lease of a worker that died ends: what time alone does to that is found before. */
const restOfAll = { afterMs: 15_000, forMs: 30_000 }

/** Between two portions of one job: writers that wait get their turn. */
const breathMs = 5

/** So that what a provider missed while it was down is made up soon after it is back. */
const pauseMaxMs = 10_000

/** After a failure the pauses grow, whoever wakes the job. */
function pauseMs(busy: boolean, everyMs: number, failures: number): number {
  if (failures > 0) return Math.min(pauseMaxMs, Math.max(everyMs, breathMs) * 2 ** Math.min(failures, 10))
  return busy ? breathMs : everyMs
}
