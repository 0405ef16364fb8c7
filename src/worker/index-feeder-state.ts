/**
 * The states of a process that keeps the search index up to date with the store. The driver is `index-feeder.ts`.
 *
 *                            ┌──────── failed, exchanged, outdated, damaged ────────┐
 *                            ▼                                                      │
 *   starting ── elected ─► opening ── opened ───────────────────────────────────► feeding ◄─┐
 *      │                   │  ▲ └──── rebuild ──► rebuilding ── opened ─────────────▲ │ └── fed
 *      │                   │  │ ◄───── failed ────────┘                               │
 *      │          released │  │ elected                                               │
 *      │                   ▼  │                                                       │
 *      └── released ───► watching ◄────────────────── released ───────────────────────┘
 *
 *   any state ── stopped ──► stopped
 *
 *   starting     The process has not yet stood for election.
 *   opening      It is the leader, and does not know the position of the index: it was just elected, another index
 *                replaced the known one, or the last step failed. The next step reads the position.
 *   rebuilding   It empties an index that cannot be continued.
 *   feeding      It knows the position of the index, and feeds it step by step.
 *   watching     Another process is the leader. This one reads the position, and changes nothing.
 *   stopped      The process has stopped indexing.
 *
 * If each process has its own index, every process is its own leader, and never watches.
 *
 * In addition, each state holds whether documents may be missing from the index (`Coverage`), which searches report.
 *
 *       ┌────────────────────── has all ─────────────────────────┐
 *       │                                                        ▼
 *   unchecked ── some missing ─► refilling ── has them ──────► complete
 *                                ▲  ▲ └─ another round ─┐        │
 *                                │  └───────────────────┘        │
 *                                └── went back, or is rebuilt ───┘
 *
 * Rules
 * 1. `complete` ends only when the index goes back: it is emptied, or its position is below the last known one.
 *    Documents that arrive later make an index late (`indexing/index-lag.ts`), not incomplete.
 * 2. The last known position is kept while the index is opened again, and by a watching process. So an index with fewer
 *    documents never replaces another one unnoticed.
 * 3. Only a leader rebuilds and feeds.
 * 4. Searches report missing documents before an index is emptied, not after.
 */
export const transitions = {
  starting: {
    elected: 'opening',
    released: 'watching',
    exchanged: 'starting',
    outdated: 'starting',
    stopped: 'stopped',
  },
  opening: {
    elected: 'opening',
    released: 'watching',
    opened: 'feeding',
    rebuild: 'rebuilding',
    failed: 'opening',
    exchanged: 'opening',
    outdated: 'opening',
    damaged: 'opening',
    stopped: 'stopped',
  },
  rebuilding: { opened: 'feeding', failed: 'opening', stopped: 'stopped' },
  feeding: {
    elected: 'feeding',
    released: 'watching',
    fed: 'feeding',
    failed: 'opening',
    exchanged: 'opening',
    outdated: 'opening',
    damaged: 'opening',
    stopped: 'stopped',
  },
  watching: {
    elected: 'opening',
    released: 'watching',
    looked: 'watching',
    exchanged: 'watching',
    // The leader gets this event too, and rebuilds the index.
    outdated: 'watching',
    stopped: 'stopped',
  },
  stopped: { exchanged: 'stopped', outdated: 'stopped', stopped: 'stopped' },
} as const satisfies Transitions

type FeederKind = FeederState['kind']
type FeederEventType = FeederEvent['type']
type Transitions = Readonly<Record<FeederKind, Readonly<Partial<Record<FeederEventType, FeederKind>>>>>

interface Known {
  /** The last known revision of the index; 0 at first. */
  readonly position: number
  readonly coverage: Coverage
}

/** The state of a leader. */
interface Leading extends Known {
  /** Why the last step failed; null if it succeeded. */
  readonly trouble: string | null
}

/** An index that may have to be rebuilt before it is fed. */
interface Unopened {
  /** Why the index must be rebuilt, whatever it reports; null if it need not be. */
  readonly outdated: string | null
}

export type FeederState =
  | (Known & Unopened & { readonly kind: 'starting' })
  | (Leading & Unopened & { readonly kind: 'opening' })
  | (Leading & Unopened & { readonly kind: 'rebuilding' })
  | (Leading & {
      readonly kind: 'feeding'
      /** The index was complete at this revision. 0 while unknown, because feeding may have stopped half-way. */
      readonly completeAt: number
      /** More documents wait than one step takes. */
      readonly isBehind: boolean
    })
  | (Known & { readonly kind: 'watching' })
  | (Known & { readonly kind: 'stopped' })

export type Coverage =
  /** The index was not checked yet. */
  | { readonly kind: 'unchecked' }
  /**
   * Documents up to `until` are missing. Documents that arrive during this round are missing too, so another round
   * follows unless this one was short (`negligibleDelayMs`). Each round must be shorter than the last. Otherwise
   * documents arrive faster than they are indexed, and more rounds would not help.
   */
  | {
      readonly kind: 'refilling'
      readonly until: number
      readonly roundStartedAt: number
      /** The duration of the previous round; infinite in the first. */
      readonly previousRoundMs: number
    }
  /** The index has every document that was missing. Newer ones may be missing for a moment. */
  | { readonly kind: 'complete' }

/** After a round this short, the documents that arrived during it are not waited for. */
export const negligibleDelayMs = 2000

/** `newest` is the newest revision of the store; `nowMs` comes from a monotonic clock. */
export type FeederEvent =
  | { readonly type: 'elected' }
  /** Another process is the leader. */
  | { readonly type: 'released' }
  /** The index cannot be continued and is emptied next. */
  | { readonly type: 'rebuild'; readonly newest: number; readonly nowMs: number }
  | { readonly type: 'opened'; readonly position: number; readonly newest: number; readonly nowMs: number }
  | {
      readonly type: 'fed'
      readonly position: number
      /** The number of indexed documents. After 0 there are no more. */
      readonly documents: number
      readonly isBehind: boolean
      /** Present if `needsNewest` says so. */
      readonly newest: number | null
      readonly nowMs: number
    }
  /** The position that the leader has reached. The leader may rebuild the index at any time. */
  | {
      readonly type: 'looked'
      readonly position: number
      /** Present if `needsNewest` says so. */
      readonly newest: number | null
      readonly nowMs: number
    }
  | { readonly type: 'failed'; readonly trouble: string }
  /** Another index replaced the served one. */
  | { readonly type: 'exchanged' }
  /** The index has documents that the store has lost. */
  | { readonly type: 'outdated'; readonly why: string }
  /** The index was found damaged while it was served. */
  | { readonly type: 'damaged' }
  | { readonly type: 'stopped' }

/** `outdated`: why an existing index cannot be continued. */
export const startingState = (outdated: string | null): FeederState => ({
  kind: 'starting',
  position: 0,
  coverage: { kind: 'unchecked' },
  outdated,
})

/**
 * The state after an event. Throws for an event that the table does not have, which is a defect: the background job
 * logs and counts it, and continues with its next step.
 */
export function stateAfter(state: FeederState, event: FeederEvent): FeederState {
  const allowed: Partial<Record<FeederEventType, FeederKind>> = transitions[state.kind]
  const kind = allowed[event.type]
  if (kind === undefined) throw new Error(`indexing: the state ${state.kind} has no event ${event.type}`)
  const isRepeated = event.type === 'elected' || event.type === 'released'
  if (kind === state.kind && isRepeated) return state
  const known: Known = { position: positionAfter(state, event), coverage: coverageAfter(state, event) }
  const outdated = event.type === 'outdated' ? event.why : outdatedOf(state)
  switch (kind) {
    case 'starting':
      return { kind, ...known, outdated }
    case 'opening':
      return { kind, ...known, outdated, trouble: event.type === 'failed' ? event.trouble : troubleOf(state) }
    case 'rebuilding':
      return { kind, ...known, outdated, trouble: troubleOf(state) }
    case 'feeding': {
      if (event.type !== 'fed') return { kind, ...known, trouble: troubleOf(state), completeAt: 0, isBehind: false }
      const completeBefore = state.kind === 'feeding' ? state.completeAt : 0
      const completeAt = event.documents === 0 ? event.position : completeBefore
      return { kind, ...known, trouble: null, completeAt, isBehind: event.isBehind }
    }
    case 'watching':
    case 'stopped':
      return { kind, ...known }
  }
}

export const isLeader = ({ kind }: FeederState): boolean =>
  kind === 'opening' || kind === 'rebuilding' || kind === 'feeding'

/** Why the leader makes no progress; null if it does. */
export const troubleOf = (state: FeederState): string | null => ('trouble' in state ? state.trouble : null)

const outdatedOf = (state: FeederState): string | null => ('outdated' in state ? state.outdated : null)

/** Whether searches must report that documents are missing. */
export const isIncomplete = ({ coverage }: FeederState): boolean => coverage.kind !== 'complete'

/**
 * Whether a `fed` or `looked` event with this position needs the newest revision of the store. A feeding leader notices
 * by itself when there are no more documents.
 */
export function needsNewest(state: FeederState, position: number): boolean {
  const mayBeComplete = state.kind === 'feeding' ? hasReached(state, position) : isIncomplete(state)
  return mayBeComplete || position < state.position
}

const hasReached = ({ coverage }: FeederState, position: number): boolean =>
  coverage.kind === 'refilling' && position >= coverage.until

function positionAfter(state: FeederState, event: FeederEvent): number {
  if (event.type === 'rebuild') return 0
  return 'position' in event ? event.position : state.position
}

function coverageAfter(state: FeederState, event: FeederEvent): Coverage {
  const { coverage } = state
  switch (event.type) {
    case 'rebuild':
      return measured(state, { ...event, position: 0 })
    case 'opened':
      return isIncomplete(state) || event.position < state.position ? measured(state, event) : coverage
    case 'fed':
      return event.documents === 0 ? { kind: 'complete' } : coverageAt(state, event)
    case 'looked':
      return coverageAt(state, event)
    default:
      return coverage
  }
}

function coverageAt(state: FeederState, { type, position, newest, nowMs }: Moved): Coverage {
  const { coverage } = state
  if (!needsNewest(state, position)) return coverage
  if (newest === null) throw new Error(`indexing: ${type} at ${position} without the newest revision of the store`)
  const hasMovedOn = coverage.kind === 'refilling' && position >= state.position
  if (!hasMovedOn || position >= newest) return measured(state, { position, newest, nowMs })
  if (position < coverage.until) return coverage
  const tookMs = nowMs - coverage.roundStartedAt
  if (tookMs < negligibleDelayMs || tookMs >= coverage.previousRoundMs) return { kind: 'complete' }
  return { kind: 'refilling', until: newest, roundStartedAt: nowMs, previousRoundMs: tookMs }
}

type Moved = Extract<FeederEvent, { type: 'fed' | 'looked' }>

interface Measured {
  readonly position: number
  readonly newest: number
  readonly nowMs: number
}

/** Returns the coverage of an index at this position, without all later documents. A current round continues. */
function measured({ coverage }: FeederState, { position, newest, nowMs }: Measured): Coverage {
  if (position >= newest) return { kind: 'complete' }
  if (coverage.kind === 'refilling') return { ...coverage, until: newest }
  return { kind: 'refilling', until: newest, roundStartedAt: nowMs, previousRoundMs: Number.POSITIVE_INFINITY }
}
