/**
 * The life of a run, which is also the life of the task that collectors see. This table is the only place that says
 * what may follow what; the store asks it before every change, and the model test walks it.
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
 * 1. A run has at most one lease that is alive. `heartbeat`, `deliver`, `succeed` and `fail` need it.
 * 2. A lease that runs out lapses: the run is pending again, and whoever held the lease can do nothing with it any more.
 * 3. A deadline comes before everything: at that moment a run that is not over is `timed_out`. No lease outlives it.
 * 4. What is over stays as it is. Because every live query has a deadline, every run ends.
 *
 * Time passes whether or not a worker looks: `stateAt` says what a run is at a moment, and the worker only writes that
 * down.
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

/** The state after an event, or null where the table has no such step. */
export const nextState = (state: RunState, event: RunEvent): RunState | null => transitions[state][event] ?? null

export const isOver = (state: RunState): boolean => Object.keys(transitions[state]).length === 0

/** What a run is at a moment, by its clock alone. */
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

/** A live query is what its runs are. */
export function queryStateOf(runs: readonly RunState[]): QueryState {
  if (runs.every((state) => state === 'pending')) return 'pending'
  if (!runs.every(isOver)) return 'running'
  if (runs.every((state) => state === 'succeeded')) return 'completed'
  return runs.includes('succeeded') ? 'partial' : 'failed'
}

/** Results can be read when nothing can come any more. */
export const isReady = (state: QueryState): boolean => state !== 'pending' && state !== 'running'
