/**
 * The states of an analysis run. This table has every possible change of state.
 *
 *   queued      waits for a worker
 *   validating  a worker holds it and checks type, entitlements and size of the input
 *   running     a worker holds it and computes the result
 *   succeeded, failed, cancelled, expired       final; only retention changes them, to expired
 *
 * A worker holds a run by a lease that it keeps renewing. When the lease expires, the worker counts as dead, and
 * another one starts the run again (`take` from validating or running). Only the holder of the lease can begin, succeed
 * or fail a run. A cancel always ends the run, and the holder notices when it next renews the lease.
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

/** Returns the state after the event; null if the event is not possible. */
export const nextStatus = (status: RunStatus, event: RunEvent): RunStatus | null => transitions[event][status] ?? null

/** Returns the states in which an event is possible, for a condition in a query. */
export const statusesBefore = (event: RunEvent): readonly RunStatus[] =>
  runStatuses.filter((status) => nextStatus(status, event) !== null)

export const unfinishedStatuses = statusesBefore('cancel')
export const heldStatuses = statusesBefore('fail')
