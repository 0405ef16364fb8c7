import type { CopiedDocument, CopyPosition } from './copy.ts'

/**
 * The states of a mirror that keeps a copy up to date. The driver is `keep-copy.ts`.
 *
 *                   exported                  caught_up             ended
 *   ┌─► exporting ────────────► following ─────────────► in_step ──────────► ended
 *   │       │                    │ ▲ │ ▲                  │   │
 *   │       │               read │ │ │ │ saved       read │   │
 *   │       │                    └─┘ │ └──────────────────┘   │
 *   │       │ restarted              │ restarted              │ restarted
 *   └───────┴────────────────────────┴────────────────────────┘
 *
 *   exporting    Documents come from the export, and are saved at each checkpoint.
 *   following    Pages of the feed are read. `pending` holds documents that are not saved yet.
 *   in_step      The copy was complete when the last page, an empty one, was read.
 *   ended        The copy is complete, and the mirror was to update it only once.
 *
 * Rules
 * 1. Each step is saved together with the `CopyPosition` that it leads to. A mirror that is killed in any state
 *    continues from the last saved position. Nothing else of a state is stored.
 * 2. The export restarts when the feed no longer knows the cursor, or when the application's entitlements have changed.
 *    Pending documents are dropped then, because the export has them.
 * 3. A cursor that the server refuses restarts the export once. If the server refuses another cursor before a page of
 *    the feed has been read, the mirror fails. Otherwise it would restart forever.
 */
export const transitions = {
  exporting: { exported: 'following', restarted: 'exporting' },
  following: {
    read: 'following',
    saved: 'following',
    entitled: 'following',
    caught_up: 'in_step',
    restarted: 'exporting',
  },
  in_step: { read: 'following', ended: 'ended', restarted: 'exporting' },
  ended: {},
} as const satisfies Transitions

type CopyKind = CopyState['kind']
type CopyEventType = CopyEvent['type']
type Transitions = Readonly<Record<CopyKind, Readonly<Partial<Record<CopyEventType, CopyKind>>>>>

interface Shared {
  readonly position: CopyPosition
  /** When the entitlements of the application were last read. */
  readonly checkedAtMs: number
  /** The export was restarted because the server refused a cursor, and no page of the feed has been read since. */
  readonly wasRefused: boolean
}

/** Current documents by id; null for a document that no longer exists. */
export type Pending = ReadonlyMap<string, CopiedDocument | null>

export type CopyState =
  | (Shared & { readonly kind: 'exporting' })
  | (Shared & { readonly kind: 'following'; readonly pending: Pending })
  | (Shared & { readonly kind: 'in_step' })
  | (Shared & { readonly kind: 'ended' })

export type CopyEvent =
  /** The export is complete and saved; `position` has the cursor of the feed. */
  | { readonly type: 'exported'; readonly position: CopyPosition }
  /** A page of the feed; `cursor` is the next one. */
  | { readonly type: 'read'; readonly cursor: string; readonly documents: Pending }
  | { readonly type: 'saved' }
  /** The entitlements of the application are still those of the export. */
  | { readonly type: 'entitled'; readonly nowMs: number }
  | { readonly type: 'caught_up' }
  | { readonly type: 'restarted'; readonly position: CopyPosition; readonly isRefused: boolean; readonly nowMs: number }
  | { readonly type: 'ended' }

/** The state in which a mirror starts. */
export function stateAt(position: CopyPosition, nowMs: number): CopyState {
  const shared: Shared = { position, checkedAtMs: nowMs, wasRefused: false }
  return position.changesCursor === null
    ? { kind: 'exporting', ...shared }
    : { kind: 'following', ...shared, pending: new Map() }
}

/**
 * Returns the state after an event. Throws for an event that the table does not have, which is a defect; saved data
 * stays intact.
 */
export function stateAfter(state: CopyState, event: CopyEvent): CopyState {
  const allowed: Partial<Record<CopyEventType, CopyKind>> = transitions[state.kind]
  const kind = allowed[event.type]
  if (kind === undefined) throw new Error(`mirror: the state ${state.kind} has no event ${event.type}`)
  const pending = pendingOf(state)
  const shared = sharedAfter(state, event)
  if (kind !== 'following') {
    if (kind === 'in_step' && pending.size > 0) throw new Error('mirror: the last page was not saved')
    return { kind, ...shared }
  }
  if (event.type === 'saved') return { kind, ...shared, pending: new Map() }
  if (event.type === 'read') return { kind, ...shared, pending: new Map([...pending, ...event.documents]) }
  return { kind, ...shared, pending }
}

export const pendingOf = (state: CopyState): Pending => (state.kind === 'following' ? state.pending : new Map())

function sharedAfter({ position, checkedAtMs, wasRefused }: CopyState, event: CopyEvent): Shared {
  switch (event.type) {
    case 'exported':
      return { position: event.position, checkedAtMs, wasRefused }
    case 'read':
      return { position: { ...position, changesCursor: event.cursor }, checkedAtMs, wasRefused: false }
    case 'entitled':
      return { position, checkedAtMs: event.nowMs, wasRefused }
    case 'restarted':
      return { position: event.position, checkedAtMs: event.nowMs, wasRefused: event.isRefused || wasRefused }
    default:
      return { position, checkedAtMs, wasRefused }
  }
}
