import type { FastifyBaseLogger } from 'fastify'
import type { PoolWatch } from '../threads/pool.ts'
import type { Metrics } from './metrics.ts'

/** Threads and processes that come and go are counted; each death is logged, once, with its cause. */
export function watchPools(metrics: Metrics, logger: FastifyBaseLogger): PoolWatch {
  return {
    members: (pool, change) => metrics.poolMembers(pool, change),
    died: (pool, cause, restMs) =>
      logger.error({ err: cause, pool, restMs }, 'a thread or process died; another takes its place'),
    replaced: (pool) => metrics.poolReplaced(pool),
  }
}
