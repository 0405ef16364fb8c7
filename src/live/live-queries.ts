import { requestHashOf } from '../access/claim.ts'
import type { Consumer } from '../access/principal.ts'
import { isUnavailability, TidemarkError, UnavailableError } from '../errors.ts'
import { isId } from '../ids.ts'
import { liveLimits, type ResourceKind } from './limits.ts'
import type { LiveQuery, LiveStore } from './live-store.ts'
import { deadlineExceeded, isOver, queryStateOf, stateAt } from './states.ts'

export interface LiveRequest {
  readonly idempotencyKey: string
  /** Everything that makes two requests the same, as JSON can hold it. */
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
  /** False where the key had already started it. */
  readonly isNew: boolean
}

/** Live collection is not available at the moment. The message of `cause` says why, to callers too. */
export interface LiveQueryNotStarted {
  readonly cause: Error
}

/** What applications do with live queries. */
export class LiveQueries {
  readonly store: LiveStore

  constructor(store: LiveStore) {
    this.store = store
  }

  /** Over a limit or with a used key it throws. */
  async start(consumer: Consumer, request: LiveRequest): Promise<StartedLiveQuery | LiveQueryNotStarted> {
    const { live } = consumer.policy
    if (live?.enabled !== true) return notStarted('the policy of this application does not enable it')
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
        return { kind: 'failed', cause: error } as const
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
        return creation
      default:
        return notStarted(`no collector has asked for tasks of platform "${creation.platform}" in the last 5 minutes`)
    }
  }

  /** Takes back what `start` has just made, because the request it belongs to is refused after all. */
  async takeBack({ liveQuery, isNew }: StartedLiveQuery): Promise<void> {
    if (isNew) await this.store.cancel(liveQuery.liveQueryId, Date.now())
  }

  async find(consumer: Consumer, id: string): Promise<LiveQuery> {
    const found = isId('lq', id) ? await this.store.find(consumer.applicationId, id) : null
    if (found === null) {
      throw new TidemarkError('live_query_not_found', 'this application has no live query with that id')
    }
    return liveQueryAt(found, Date.now())
  }
}

const notStarted = (why: string): LiveQueryNotStarted => ({ cause: new UnavailableError(why) })

/** How many items of a platform the policy lets an application ask for. */
export const itemsMaxOf = ({ policy }: Consumer): number =>
  policy.live?.max_items_per_platform ?? liveLimits.itemsDefault

/** Time passes whether or not the worker has written it down. */
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
