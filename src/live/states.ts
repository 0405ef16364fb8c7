/**
 * The states of a run, which is also the task that collectors see. This table has every possible transition. The store
 * consults it before every change, and the model test checks all of it.
 *
 *             lease                succeed
 *   pending ---------> running -------------> succeeded
 *      ^                 |  |      fail
 *      |      lapse      |  +---------------> failed
 *      +-----------------+
 *   pending, running -- deadline -----------> timed_out
 *   pending, running -- cancel -------------> cancelled
 *
 * Rules
 * 1. A run has at most one valid lease. `heartbeat`, `deliver`, `succeed` and `fail` need it.
 * 2. An expired lease lapses: the run is pending again, and its former holder can no longer use it.
 * 3. A deadline has priority: at that moment an unfinished run becomes `timed_out`. No lease lasts beyond it.
 * 4. Final states do not change. Every live query has a deadline, so every run ends.
 *
 * The states follow the clock, whether or not a worker runs: `stateAt` returns the state at a moment, and the worker
 * only stores it.
 */
export const runStates = ['pending', 'running', 'succeeded', 'failed', 'timed_out', 'cancelled'] as const
export type RunState = (typeof runStates)[number]

export type RunEvent = 'lease' | 'heartbeat' | 'deliver' | 'succeed' | 'fail' | 'lapse' | 'deadline' | 'cancel'

export const transitions: Readonly<Record<RunState, Readonly<Partial<Record<RunEvent, RunState>>>>> = {
  pending: { lease: 'running', deadline: 'timed_out', cancel: 'cancelled' },
  running: {
    heartbeat: 'running',
    deliver: 'running',
    succeed: 'succeeded',
    fail: 'failed',
    lapse: 'pending',
    deadline: 'timed_out',
    cancel: 'cancelled',
  },
  succeeded: {},
  failed: {},
  timed_out: {},
  cancelled: {},
}

/** Returns the state after an event; null if the table has no such transition. */
export const nextState = (state: RunState, event: RunEvent): RunState | null => transitions[state][event] ?? null

export const isOver = (state: RunState): boolean => Object.keys(transitions[state]).length === 0

/** Returns the state of a run at a moment, from its stored state and the clock. */
export function stateAt(
  run: { readonly status: RunState; readonly leaseExpiresAt: number | null },
  deadlineAt: number,
  nowMs: number,
): RunState {
  if (isOver(run.status)) return run.status
  if (nowMs >= deadlineAt) return transitions[run.status].deadline!
  const lapsed = run.status === 'running' && run.leaseExpiresAt !== null && nowMs >= run.leaseExpiresAt
  return lapsed ? transitions.running.lapse! : run.status
}

/** The error of a run that is `timed_out`. */
export const deadlineExceeded = {
  code: 'deadline_exceeded',
  message: 'The deadline passed before the collection was complete.',
} as const

export const queryStates = ['pending', 'running', 'completed', 'partial', 'failed'] as const
export type QueryState = (typeof queryStates)[number]

/** The state of a live query follows from those of its runs. */
export function queryStateOf(runs: readonly RunState[]): QueryState {
  if (runs.every((state) => state === 'pending')) return 'pending'
  if (!runs.every(isOver)) return 'running'
  if (runs.every((state) => state === 'succeeded')) return 'completed'
  return runs.includes('succeeded') ? 'partial' : 'failed'
}

/** Results are complete when no run can add any more. */
export const isReady = (state: QueryState): boolean => state !== 'pending' && state !== 'running'
