import { requestHashOf } from '../access/claim.ts'
import type { Consumer } from '../access/principal.ts'
import { isUnavailability, TidemarkError } from '../platform/errors.ts'
import { isId } from '../platform/ids.ts'
import { liveLimits, type ResourceKind } from './limits.ts'
import type { LiveQuery, LiveStore } from './live-store.ts'
import { deadlineExceeded, isOver, queryStateOf, stateAt } from './states.ts'

export interface LiveRequest {
  readonly idempotencyKey: string
  /** Everything that distinguishes two requests, as JSON values. */
  readonly body: unknown
  readonly query: string
  readonly dataset: string
  readonly platforms: readonly string[]
  readonly resourceKind: ResourceKind
  readonly maxItems: number | undefined
  readonly deadlineSeconds: number | undefined
}

export interface StartedLiveQuery {
  readonly liveQuery: LiveQuery
  /** False if the key had already started it. */
  readonly isNew: boolean
}

/** Live collection is not available. `cause` is the error for the caller: it says why, and when to try again. */
export interface LiveQueryNotStarted {
  readonly cause: TidemarkError
}

/** The `Retry-After` while no collector serves a platform. A restarted collector is back in about this time. */
const collectorAwaitedSeconds = 60

/** The operations of applications on live queries. */
export class LiveQueries {
  readonly store: LiveStore

  constructor(store: LiveStore) {
    this.store = store
  }

  /** Throws if a limit is exceeded, or if the key was used for another request. */
  async start(consumer: Consumer, request: LiveRequest): Promise<StartedLiveQuery | LiveQueryNotStarted> {
    const { live } = consumer.policy
    if (live?.enabled !== true) {
      const why = 'live collection is off for this application: ask its operator to set live.enabled in the policy'
      return notStarted(why, { retryAfterSeconds: null })
    }
    const creation = await this.store
      .create(
        {
          applicationId: consumer.applicationId,
          claim: {
            caller: consumer.applicationId,
            key: request.idempotencyKey,
            requestHash: requestHashOf(request.body),
          },
          datasetId: request.dataset,
          platforms: request.platforms,
          resourceKind: request.resourceKind,
          query: request.query,
          maxItems: request.maxItems ?? Math.min(liveLimits.itemsDefault, itemsMaxOf(consumer)),
          deadlineMs: (request.deadlineSeconds ?? liveLimits.deadlineSecondsDefault) * 1000,
          concurrentMax: live.max_concurrent ?? null,
          perMinuteMax: live.requests_per_minute ?? null,
        },
        Date.now(),
      )
      .catch((error: unknown) => {
        if (!isUnavailability(error)) throw error
        return { kind: 'failed', error } as const
      })
    switch (creation.kind) {
      case 'created':
      case 'known':
        return { liveQuery: liveQueryAt(creation.liveQuery, Date.now()), isNew: creation.kind === 'created' }
      case 'key_reused':
        throw new TidemarkError(
          'idempotency_key_reused',
          'this Idempotency-Key was used with a different request: send a new key, or the same request',
        )
      case 'too_many':
        throw new TidemarkError(
          'rate_limit_exceeded',
          `this application can have ${live.max_concurrent} live queries in progress: wait for one to finish`,
          { retryAfterSeconds: creation.retryAfterSeconds },
        )
      case 'too_fast':
        throw new TidemarkError(
          'rate_limit_exceeded',
          `this application can start ${live.requests_per_minute} live queries per minute: wait and try again`,
          { retryAfterSeconds: creation.retryAfterSeconds },
        )
      case 'failed':
        if (creation.error instanceof TidemarkError) return { cause: creation.error }
        return notStarted('the store is unavailable: try again soon', { cause: creation.error })
      default:
        return notStarted(
          `no collector has asked for tasks of platform "${creation.platform}" in the last 5 minutes: try again when one does`,
          { retryAfterSeconds: collectorAwaitedSeconds },
        )
    }
  }

  /** Undoes `start`, for a request that is refused afterwards. */
  async undoStart({ liveQuery, isNew }: StartedLiveQuery): Promise<void> {
    if (isNew) await this.store.cancel(liveQuery.liveQueryId, Date.now())
  }

  async find(consumer: Consumer, id: string): Promise<LiveQuery> {
    const found = isId('lq', id) ? await this.store.find(consumer.applicationId, id) : null
    if (found === null) {
      throw new TidemarkError('live_query_not_found', 'this application has no live query with that ID')
    }
    return liveQueryAt(found, Date.now())
  }
}

const notStarted = (
  why: string,
  more: { readonly retryAfterSeconds?: number | null; readonly cause?: unknown },
): LiveQueryNotStarted => ({ cause: new TidemarkError('live_query_unavailable', why, more) })

/** The maximum number of items per platform under the policy of the application. */
export const itemsMaxOf = ({ policy }: Consumer): number =>
  policy.live?.max_items_per_platform ?? liveLimits.itemsDefault

/** Returns the live query as it is at this time, whether or not the worker has stored expired deadlines and leases. */
export function liveQueryAt(stored: LiveQuery, nowMs: number): LiveQuery {
  const runs = stored.runs.map((run) => {
    const status = stateAt(run, stored.deadlineAt, nowMs)
    return status === 'timed_out' && run.error === null
      ? { ...run, status, error: deadlineExceeded }
      : { ...run, status }
  })
  const isDone = runs.every(({ status }) => isOver(status))
  return { ...stored, runs, completedAt: stored.completedAt ?? (isDone ? stored.deadlineAt : null) }
}

export const statusOf = ({ runs }: LiveQuery) => queryStateOf(runs.map(({ status }) => status))
