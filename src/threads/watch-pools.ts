import type { Log } from '../platform/log.ts'
import type { Measures } from '../platform/measures.ts'
import type { PoolWatch } from './pool.ts'

/** Counts the threads and processes that start and exit, and logs each unexpected exit once with its cause. */
export function watchPools(measures: Measures, logger: Log): PoolWatch {
  const serving = new Map<string, number>()
  const replaced = measures.counter({
    name: 'tidemark_pool_replaced_total',
    help: 'Threads or processes that replaced one that exited unexpectedly.',
    labels: ['pool'],
  })
  measures.gauge(
    { name: 'tidemark_pool_members', help: 'Threads or processes that serve, by pool.', labels: ['pool'] },
    () => [...serving].map(([pool, value]) => ({ labels: { pool }, value })),
  )
  return {
    members(pool, change) {
      serving.set(pool, (serving.get(pool) ?? 0) + change)
      replaced({ pool }, 0)
    },
    exited: (pool, cause, restMs) =>
      logger.error({ err: cause, pool, restMs }, 'a thread or process exited unexpectedly; another replaces it'),
    replaced: (pool) => replaced({ pool }),
  }
}
