import type { Log } from '../log.ts'
import type { Measures } from '../measures.ts'
import type { PoolWatch } from './pool.ts'

/** Threads and processes that come and go are counted; each death is logged, once, with its cause. */
export function watchPools(measures: Measures, logger: Log): PoolWatch {
  const serving = new Map<string, number>()
  const replaced = measures.counter({
    name: 'tidemark_pool_replaced_total',
    help: 'Threads or processes that took the place of one that died.',
    labels: ['pool'],
  })
  measures.gauge(
    { name: 'tidemark_pool_members', help: 'Threads or processes that serve, by what they do.', labels: ['pool'] },
    () => [...serving].map(([pool, value]) => ({ labels: { pool }, value })),
  )
  return {
    members(pool, change) {
      serving.set(pool, (serving.get(pool) ?? 0) + change)
      replaced({ pool }, 0)
    },
    died: (pool, cause, restMs) =>
      logger.error({ err: cause, pool, restMs }, 'a thread or process died; another takes its place'),
    replaced: (pool) => replaced({ pool }),
  }
}
