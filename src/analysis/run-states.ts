/**
 * The life of an analysis run, as one table. Everything that moves a run asks it; a move that is not here is not made.
 *
 *   queued      waits for a worker
 *   validating  a worker holds it: type, entitlements and size of the input are looked at
 *   running     a worker holds it: the result is computed
 *   succeeded, failed, cancelled, expired       final; only retention moves them on, to expired
 *
 * A worker holds a run by a lease that it keeps renewing. When the lease runs out the worker is taken for dead, and
 * another takes the run up from the start (`take` from validating or running). Only the holder of the lease can begin,
 * succeed or fail a run; anybody's cancel ends it, and the holder notices when it next renews.
 */
export const runStatuses = ['queued', 'validating', 'running', 'succeeded', 'failed', 'cancelled', 'expired'] as const
export type RunStatus = (typeof runStatuses)[number]

export type RunEvent = 'take' | 'begin' | 'succeed' | 'fail' | 'cancel' | 'expire'

const transitions: { readonly [Event in RunEvent]: Partial<Record<RunStatus, RunStatus>> } = {
  take: { queued: 'validating', validating: 'validating', running: 'validating' },
  begin: { validating: 'running' },
  succeed: { running: 'succeeded' },
  fail: { validating: 'failed', running: 'failed' },
  cancel: { queued: 'cancelled', validating: 'cancelled', running: 'cancelled' },
  expire: {
    queued: 'expired',
    validating: 'expired',
    running: 'expired',
    succeeded: 'expired',
    failed: 'expired',
    cancelled: 'expired',
  },
}

/** Where the event leads; null where it is not possible. */
export const nextStatus = (status: RunStatus, event: RunEvent): RunStatus | null => transitions[event][status] ?? null

/** The states in which an event is possible, for a store to ask for them in one condition. */
export const statusesBefore = (event: RunEvent): readonly RunStatus[] =>
  runStatuses.filter((status) => nextStatus(status, event) !== null)

export const unfinishedStatuses = statusesBefore('cancel')
export const heldStatuses = statusesBefore('fail')
