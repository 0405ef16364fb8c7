import type { FastifyBaseLogger } from 'fastify'

/** A background job that runs again and again, never twice at once, and can be ended in an orderly way. */
export interface Repeating {
  stop(): Promise<void>
}

/**
 * Runs `work` now and then every `everyMs`. `work` returns whether there is more to do at once; it is then called again
 * after letting others go first. A failure is logged and the next turn tries again.
 */
export function repeat(
  name: string,
  everyMs: number,
  work: () => Promise<boolean>,
  logger: FastifyBaseLogger,
): Repeating {
  let stopped = false
  let wake: () => void = () => {}
  const turn = async (): Promise<void> => {
    while (!stopped) {
      let more = false
      try {
        more = await work()
      } catch (error) {
        logger.error({ err: error, job: name }, 'a background job failed; it will be tried again')
      }
      if (stopped) return
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, more ? breathMs : everyMs)
        timer.unref()
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }
  const running = turn()
  return {
    async stop() {
      stopped = true
      wake()
      await running
    },
  }
}

/** Between two portions of one job: writers that wait get their turn. */
const breathMs = 20
